; Trainwright's installer: for the person who runs it, without an administrator's rights. builder/windows.py compiles it with
;   VERSION, NUMBER (four numbers), SOURCE (the frozen window), ICON, LICENSE, TARGET (the installer), KILOBYTES and APP_ID

Unicode true
!include "MUI2.nsh"
!include "LogicLib.nsh"

!define PROGRAM "trainwright.exe"
!define TYPE "Trainwright.Configuration"
!define RUN "Trainwright.Run"
!define CLASSES "Software\Classes"
!define UNINSTALL "Software\Microsoft\Windows\CurrentVersion\Uninstall\${APP_ID}"
!define APP_PATHS "Software\Microsoft\Windows\CurrentVersion\App Paths\${PROGRAM}"

Name "Trainwright"
OutFile "${TARGET}"
RequestExecutionLevel user
InstallDir "$LOCALAPPDATA\Programs\Trainwright"
InstallDirRegKey HKCU "${UNINSTALL}" "InstallLocation"
SetCompressor /SOLID lzma
BrandingText "Trainwright ${VERSION}"
ManifestDPIAware true
VIProductVersion "${NUMBER}"
VIAddVersionKey "ProductName" "Trainwright"
VIAddVersionKey "ProductVersion" "${VERSION}"
VIAddVersionKey "FileVersion" "${VERSION}"
VIAddVersionKey "FileDescription" "Trainwright's installer"
VIAddVersionKey "LegalCopyright" "The Trainwright developers, Apache License 2.0"

!define MUI_ICON "${ICON}"
!define MUI_UNICON "${ICON}"
!define MUI_FINISHPAGE_RUN "$INSTDIR\${PROGRAM}"
!insertmacro MUI_PAGE_LICENSE "${LICENSE}"
!insertmacro MUI_PAGE_DIRECTORY
!insertmacro MUI_PAGE_INSTFILES
!insertmacro MUI_PAGE_FINISH
!insertmacro MUI_UNPAGE_CONFIRM
!insertmacro MUI_UNPAGE_INSTFILES
!insertmacro MUI_LANGUAGE "English"

; Takes the program away with what it came with, and nothing else that lies in its folder. Windows keeps a program that runs.
!macro RemoveProgram
  again:
  Delete "$INSTDIR\${PROGRAM}"
  ${If} ${FileExists} "$INSTDIR\${PROGRAM}"
    MessageBox MB_RETRYCANCEL|MB_ICONEXCLAMATION "Trainwright is open. Close it, and try again." /SD IDCANCEL IDRETRY again
    SetErrorLevel 2
    Quit
  ${EndIf}
  Delete "$INSTDIR\trainwright-cli.exe"
  RMDir /r "$INSTDIR\_internal"
!macroend

Section "Trainwright"
  ${If} ${FileExists} "$INSTDIR\${PROGRAM}" ; an earlier version: the folder is ours
    !insertmacro RemoveProgram
  ${EndIf}
  SetOutPath "$INSTDIR"
  File /r "${SOURCE}\*.*"
  WriteUninstaller "$INSTDIR\uninstall.exe"

  ; The program writes its own entry: with its id, by which the taskbar knows it. This one is for where that fails.
  ExecWait '"$INSTDIR\${PROGRAM}" --install-shortcut' $0
  ${If} ${Errors}
  ${OrIf} $0 <> 0
    CreateShortCut "$SMPROGRAMS\Trainwright.lnk" "$INSTDIR\${PROGRAM}"
  ${EndIf}

  ; "Open with" of TOML files. Windows knows a file by what follows its last dot, so *.trainwright.toml cannot be claimed alone.
  WriteRegStr HKCU "${CLASSES}\${TYPE}" "" "Trainwright configuration"
  WriteRegStr HKCU "${CLASSES}\${TYPE}\DefaultIcon" "" "$INSTDIR\${PROGRAM},0"
  WriteRegStr HKCU "${CLASSES}\${TYPE}\shell\open\command" "" '"$INSTDIR\${PROGRAM}" "%1"'
  WriteRegStr HKCU "${CLASSES}\.toml\OpenWithProgids" "${TYPE}" ""

  ; The file in each run's folder that shows the run.
  WriteRegStr HKCU "${CLASSES}\${RUN}" "" "Trainwright run"
  WriteRegStr HKCU "${CLASSES}\${RUN}\DefaultIcon" "" "$INSTDIR\${PROGRAM},0"
  WriteRegStr HKCU "${CLASSES}\${RUN}\shell\open\command" "" '"$INSTDIR\${PROGRAM}" "%1"'
  WriteRegStr HKCU "${CLASSES}\.trainwright" "" "${RUN}"

  WriteRegStr HKCU "${APP_PATHS}" "" "$INSTDIR\${PROGRAM}"
  WriteRegStr HKCU "${UNINSTALL}" "DisplayName" "Trainwright"
  WriteRegStr HKCU "${UNINSTALL}" "DisplayVersion" "${VERSION}"
  WriteRegStr HKCU "${UNINSTALL}" "DisplayIcon" "$INSTDIR\${PROGRAM}"
  WriteRegStr HKCU "${UNINSTALL}" "Publisher" "The Trainwright developers"
  WriteRegStr HKCU "${UNINSTALL}" "InstallLocation" "$INSTDIR"
  WriteRegStr HKCU "${UNINSTALL}" "UninstallString" '"$INSTDIR\uninstall.exe"'
  WriteRegStr HKCU "${UNINSTALL}" "QuietUninstallString" '"$INSTDIR\uninstall.exe" /S'
  WriteRegDWORD HKCU "${UNINSTALL}" "EstimatedSize" ${KILOBYTES}
  WriteRegDWORD HKCU "${UNINSTALL}" "NoModify" 1
  WriteRegDWORD HKCU "${UNINSTALL}" "NoRepair" 1
SectionEnd

; Leaves runs, settings and engines alone: they are the person's, and lie elsewhere.
Section "Uninstall"
  !insertmacro RemoveProgram
  Delete "$INSTDIR\LICENSES.txt"
  Delete "$INSTDIR\bill-of-materials.cdx.json"
  Delete "$INSTDIR\uninstall.exe"
  RMDir "$INSTDIR" ; only if nothing is left in it
  Delete "$SMPROGRAMS\Trainwright.lnk"
  DeleteRegKey HKCU "${CLASSES}\${TYPE}"
  DeleteRegKey HKCU "${CLASSES}\${RUN}"
  DeleteRegKey HKCU "${CLASSES}\.trainwright"
  DeleteRegValue HKCU "${CLASSES}\.toml\OpenWithProgids" "${TYPE}"
  DeleteRegKey HKCU "${APP_PATHS}"
  DeleteRegKey HKCU "${UNINSTALL}"
SectionEnd
