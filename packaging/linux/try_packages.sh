#!/bin/sh
# What try_packages.py and try_appdir.py carry out in a bare root without a network: start the window, train, and look at what is told.
# PROGRAM is what starts it ("" for the menu's entry), RUNS where its runs lie.
set -eu
export DISPLAY=:77 HOME=/root
entry=$(ls /usr/share/applications/*.Trainwright.desktop 2>/dev/null || true)
runs=${RUNS:-$HOME/Documents/Trainwright/runs}
Xvfb :77 -screen 0 1280x900x24 >/tmp/xvfb.log 2>&1 & screen=$!
trap 'kill $screen' EXIT
until [ -e /tmp/.X11-unix/X77 ]; do sleep 0.1; done

since() { date +%s.%N | awk -v start="$1" '{printf "%.1f", $1 - start}'; }

find_window() { timeout 120 xdotool search --sync --onlyvisible --name 'Trainwright$' | head -1; }

# How long after $2 a key press in the window $1 does what it should: Preferences come. They are closed again.
answer() {
    until preferences=$(xdotool search --onlyvisible --name '^Preferences$'); do
        [ "$(since "$2" | cut -d. -f1)" -lt 120 ] || { echo "no answer to a key within 120 s" >&2; exit 1; }
        xdotool windowfocus "$1" key ctrl+comma
        sleep 0.05
    done
    since "$2"
    xdotool windowfocus "$(echo "$preferences" | head -1)" key Escape
}

# Kills the program of the window $1, and waits until it has ended.
close() {
    program=$(xdotool getwindowpid "$1")
    kill -TERM "$program"
    while kill -0 "$program" 2>/dev/null; do sleep 0.1; done
}

# Of the processor, by the process $1 so far.
ticks() { cut -d' ' -f14,15 "/proc/$1/stat" | tr ' ' '+' | xargs -I{} sh -c 'echo $(({}))'; }

# How long after $2 the process $1 came to rest: in the second after that it uses less than three ticks.
settle() {
    while :; do
        reached=$(since "$2"); before=$(ticks "$1")
        for _ in 1 2 3 4; do
            sleep 0.25
            [ "$(($(ticks "$1") - before))" -lt 3 ] || continue 2
        done
        echo "$reached"
        return
    done
}

case $1 in
start)
    start=$(date +%s.%N)
    if [ "${PROGRAM:-}" ]; then "$PROGRAM" >/tmp/start.log 2>&1 & else gio launch "$entry" >/tmp/start.log 2>&1 & fi
    window=$(find_window)
    frame=$(since "$start")
    program=$(xdotool getwindowpid "$window")
    [ "${3:-}" != answer ] || echo "$2: it answers a key after $(answer "$window" "$start") s"
    whole=$(settle "$program" "$start")
    used=$(ticks "$program" | awk -v rate="$(getconf CLK_TCK)" '{printf "%.1f", $1 / rate}')
    echo "$2: the window's frame after $frame s, at rest after $whole s, $used s of a core used"
    if [ "${3:-}" = measure ]; then
        sleep 10
        before=$(ticks "$program"); sleep 30; after=$(ticks "$program")
        awk '/VmRSS/ {printf "memory: %.0f MB", $2 / 1024}' "/proc/$program/status"
        awk -v ticks="$((after - before))" -v rate="$(getconf CLK_TCK)" 'BEGIN {printf ", idle: %.2f %% of a core\n", ticks / rate / 30 * 100}'
    fi
    xwd -silent -root >"/tmp/start-$2.xwd"
    close "$window"
    ;;
train)
    start=$(date +%s.%N)
    "${PROGRAM:-trainwright}" preset:sample --start >/tmp/train.log 2>&1 &
    window=$(find_window)
    until grep -qs '"status": *"completed"' "$runs"/*/status.json; do
        [ "$(since "$start" | cut -d. -f1)" -lt 300 ] || { echo "not trained within 300 s"; cat /tmp/train.log; exit 1; }
        sleep 0.2
    done
    echo "sample trained in the window, its start included: $(since "$start") s"
    xwd -silent -root >/tmp/train.xwd
    close "$window"
    ;;
esac
