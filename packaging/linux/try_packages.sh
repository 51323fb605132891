#!/bin/sh
# What try_packages.py carries out in a bare root without a network: start the window as a menu does, train, and look at what is told.
set -eu
export DISPLAY=:77 HOME=/root
entry=$(ls /usr/share/applications/*.Trainwright.desktop)
runs=$HOME/Documents/Trainwright/runs
Xvfb :77 -screen 0 1280x900x24 >/tmp/xvfb.log 2>&1 & screen=$!
trap 'kill $screen' EXIT
until [ -e /tmp/.X11-unix/X77 ]; do sleep 0.1; done

since() { date +%s.%N | awk -v start="$1" '{printf "%.1f", $1 - start}'; }

# Kills the program of the window $1, and waits until it has ended.
close() {
    program=$(xdotool getwindowpid "$1")
    kill -TERM "$program"
    while kill -0 "$program" 2>/dev/null; do sleep 0.1; done
}

case $1 in
start)
    start=$(date +%s.%N)
    gio launch "$entry" >/tmp/start.log 2>&1 &
    window=$(timeout 120 xdotool search --sync --onlyvisible --name Trainwright | head -1)
    echo "first window from the menu's entry, $2: $(since "$start") s"
    close "$window"
    ;;
train)
    start=$(date +%s.%N)
    trainwright preset:sample --start >/tmp/train.log 2>&1 &
    window=$(timeout 120 xdotool search --sync --onlyvisible --name Trainwright | head -1)
    until grep -qs '"status": *"completed"' "$runs"/*/status.json; do
        [ "$(since "$start" | cut -d. -f1)" -lt 300 ] || { echo "not trained within 300 s"; cat /tmp/train.log; exit 1; }
        sleep 0.2
    done
    echo "sample trained in the window, its start included: $(since "$start") s"
    close "$window"
    ;;
esac
