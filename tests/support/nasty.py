"""Two hundred commands that mean no good, by what they try. Each may be tried in any wall; none is endless in number.

`{out}`: a directory outside the walls with a file `precious`; `{py}`: a python; `{state}`: where the shell keeps its own state.
Nothing here names processes beyond the terminal's own, and what forks without end never grows.
"""

from __future__ import annotations

ENDS = """
exit 0
exit 255
exec true
exec sh -c 'exit 9'
exec >/dev/null 2>&1; exec </dev/null
set -e; false
set -u; echo $not_there
set -euo pipefail; false | true
kill -9 $$
kill -HUP $$
kill -TERM $$
trap 'exec sleep 0.1' EXIT
trap 'trap - EXIT; kill -9 $$' EXIT
while :; do break 2>/dev/null; done; return 2>/dev/null; logout 2>/dev/null
if
echo "unterminated
eval 'eval "eval exit\\ 3"'
f() { f; }; f
enable -n exit; builtin exit 4
( exit 5 ); exec 3<&- 4<&- 5>&- 6>&- 7>&- 8>&- 9>&-
"""
LEFT_BEHIND = """
sleep 40 &
setsid sleep 40 &
nohup sleep 40 >/dev/null 2>&1 &
( ( sleep 40 & ) & )
setsid setsid setsid sleep 40 </dev/null >/dev/null 2>&1 & disown
coproc sleep 40
(trap '' HUP INT TERM; sleep 40) & disown -a
sleep 40 | sleep 40 | sleep 40 &
for i in 1 2 3 4 5; do (setsid sh -c 'sleep 40; sleep 40' &); done
{ while :; do sleep 0.05; done; } &
{ while :; do echo noise; sleep 0.02; done; } &
{ while :; do printf '\\033[2J\\033[?1049h'; sleep 0.05; done; } &
( exec >/dev/tty; while :; do printf x; sleep 0.05; done ) &
cat /dev/tty &
(read -r line </dev/tty; echo "$line" > stolen) &
{py} -c 'import os,time; os.fork() or (os.setsid(), os.fork() or time.sleep(40))' &
hop() { sleep 0.02; hop & }; hop
sh -c 'sleep 40 & sleep 40 & wait' & sleep 0.1; kill %1
exec 8>&1; sleep 40 >&8 &
mkfifo pipe; cat pipe & cat pipe &
"""
OUTPUT = """
head -c 1000000000 /dev/zero | tr '\\0' x
head -c 3000000 /dev/urandom
yes | head -n 3000000
printf 'no newline'
printf '%*s' 5000000 x
printf '\\r%s' $(seq 20000)
printf '\\033]0;a title without an end'
printf '\\033P never ends'
printf '\\033[%s' 1 2 3 ';' ';' ';'
printf '\\033[?1049h\\033[?1000h\\033[?2004h\\033[31;5m\\033(0\\033#8'
printf '\\033]52;c;aGVsbG8=\\007\\033]8;;file:///etc/passwd\\007x'
printf '\\033]7770;0123456789abcdef\\007'
for i in $(seq 300); do printf '\\033]7770;%016x\\007' $i; done
printf '\\377\\376\\200\\0\\001'
printf '1 0 0 /\\n2 0 0 /\\n' >&5
printf '1 0 0 /\\n' >&9; printf x >&4; printf x >&10
printf '\\033c\\033[6n\\033[c\\033[5n'
seq 200000 >&2
printf '\\b%.0s' $(seq 5000)
{py} -c 'import sys; sys.stdout.write("\\u202e\\u200b\\ud7ff" * 100000)'
"""
INPUT = """
cat
read line
sort
cat - - -
{py} -c 'input()'
{py} -i
head -c 1 /dev/tty
read -r x </dev/tty
cat /dev/tty | sort
sh -i
bash
dd of=/dev/null
xargs echo
tee copy
while read -r line; do echo $line; done
{py} -c 'import getpass; getpass.getpass()'
less precious
vi
git commit
exec cat </dev/tty
"""
DIRECTORY = """
mkdir a; cd a; rmdir ../a
mkdir -p a/b/c; cd a/b/c; rm -rf ../../../a
mkdir a; cd a; mv ../a ../b
mkdir a; cd a; chmod 000 .
mkdir a; cd a; rmdir ../a; touch ../a
mkdir a; cd a; rmdir ../a; ln -s {out} ../a
ln -s {out} link; cd link
ln -s loop loop; cd loop
mkdir 'a
b'; cd 'a
b'
mkdir -- -n; cd -- -n
mkdir '$(touch {out}/x)'; cd '$(touch {out}/x)'
cd /; cd /proc/self
cd /proc/self/fd
cd /dev
CDPATH={out} cd .
cd {out}
PWD={out}
for i in $(seq 200); do mkdir deeeeeeeeeeeeeeeeeep; cd deeeeeeeeeeeeeeeeeep; done
cd() { echo no; }; cd ..
unset PWD HOME OLDPWD
"""
MODES = """
stty raw -echo </dev/tty
stty -icanon -isig -opost </dev/tty
stty 0 </dev/tty
stty rows 0 cols 0 </dev/tty
stty rows 1 cols 1 </dev/tty
stty ixon; printf '\\023' >/dev/tty
stty eof x intr y susp z erase q </dev/tty
stty -cread </dev/tty
stty tostop </dev/tty
reset
tput smcup
{py} -c 'import termios; termios.tcflow(1, termios.TCOOFF)'
{py} -c 'import fcntl; fcntl.ioctl(1, 0x5412, b"e")'
{py} -c 'import fcntl, termios; fcntl.ioctl(1, termios.TIOCEXCL)'
{py} -c 'import fcntl, termios; fcntl.ioctl(1, termios.TIOCNOTTY)'
{py} -c 'import os; os.tcsetpgrp(1, os.getpgrp())'
{py} -c 'import tty; tty.setraw(1)'
{py} -c 'import os; os.set_blocking(1, False); os.write(1, b"y" * 1000000)'
{py} -c 'import fcntl, termios; fcntl.ioctl(1, 0x5437, b"")'
printf '\\033[?25l\\033[?7l\\033[20h\\033[4h'
"""
GIT = """
git -C {out} init
git -C {out} status
GIT_DIR={out}/.git git init
GIT_DIR={out} GIT_WORK_TREE=/ git add -A
git init --separate-git-dir {out}/git .
rm -rf .git
mv .git git
echo 'gitdir: {out}' > .git
ln -sf {out} .git
rm .git; mkdir .git; touch .git/config
git config --global core.fsmonitor 'touch {out}/owned'; git status
git config --system x.y z
git -c core.sshCommand='touch {out}/owned' fetch ssh://nowhere/x
git -c core.pager='touch {out}/owned' --paginate log
git -c alias.x='!touch {out}/owned' x
git clone {out} copy
git worktree add {out}/tree
GIT_TEMPLATE_DIR={out} git init fresh
export GIT_DIR={out} GIT_INDEX_FILE={out}/index
chmod 000 .git; chattr +i .git
"""
PATHS = """
echo x > {out}/new
echo x >> {out}/precious
rm -rf {out}
mv {out} .
cp -r {out} . && rm -rf {out}/precious
ln -s {out} way; echo x > way/new
ln -s {out}/precious way2; echo x > way2
ln {out}/precious hard; echo x > hard
rm -rf way3; ln -s {out} way3; rm -rf way3/*
find -L . -name precious -delete
tar -cf t.tar precious 2>/dev/null; tar -C {out} -xf t.tar
cd {out}; touch new; rm precious
mkdir s; ln -s ../../../../../../../../../../{out} s/up; echo x > s/up/new
echo x > /proc/self/root/{out}/new
echo x > /proc/1/root/{out}/new
mount --bind {out} .
unshare -r mount --bind {out} .
chroot / touch {out}/new
mknod disk b 254 0; echo x > disk
touch /etc/new /usr/new /root/new /home/new
dd if=/dev/zero of={out}/precious bs=1 count=1 conv=notrunc
truncate -s 0 {out}/precious
install -D precious {out}/sub/new
{py} -c 'import os; os.rename("{out}/precious", "{out}/gone")'
{py} -c 'import os; os.symlink("/etc/passwd", "{out}/link")'
"""
STATE = """
rm -rf {state}
rm -rf {state}; mkdir {state}; mkdir {state}/state {state}/cwd
rm -rf {state}; ln -s {out} {state}
rm -f {state}/cwd; mkfifo {state}/cwd
rm -f {state}/cwd; ln -s /dev/zero {state}/cwd
rm -f {state}/state; ln -s {out}/precious {state}/state
rm -f {state}/new; ln -s {out}/precious {state}/new
rm -f {state}/cwd; ln -s {out}/precious {state}/cwd
head -c 20000000 /dev/zero | tr '\\0' x > {state}/cwd
chmod 000 {state}
chmod 000 {state}/state {state}/cwd
printf 'syntax ( error' > {state}/state
PATH=
unset PATH
enable -n printf read eval set
printf() { echo no; }; mv() { echo no; }; eval() { echo no; }; command() { echo no; }; builtin() { echo no; }
alias echo=false cd=false exit=true printf=false
BASH_ENV={out}/env; export BASH_ENV ENV=$BASH_ENV; PROMPT_COMMAND='exit'
readonly HOME PATH A=1
IFS=abcdefghijklmnopqrstuvwxyz/
set -f -x -v
set -o posix
set -r
shopt -s failglob nullglob extglob; shopt -u sourcepath
for i in $(seq 3000); do eval "v$i=$i"; done
"""
RESOURCES = """
while :; do :; done
(while :; do :; done) & (while :; do :; done) & wait
grow() { [ $1 -gt 6 ] && exec sleep 30; grow $(($1 + 1)) & grow $(($1 + 1)) & wait; }; grow 0
for i in $(seq 150); do sleep 30 & done; wait
for i in $(seq 150); do setsid sleep 30 & done; wait
ulimit -n 8; echo x
ulimit -f 1; yes > big
ulimit -t 1; while :; do :; done
ulimit -c unlimited; kill -SEGV $$
fallocate -l 8G big
dd if=/dev/zero of=big bs=1M count=100
{py} -c 'x = bytearray(200_000_000); print(len(x))'
exec 3<>/dev/null; for i in $(seq 10 400); do eval "exec $i<>/dev/null" || break; done
for i in $(seq 2000); do : > file$i; done
nice -n -20 true; renice -n -20 $$; ionice -c1 true; chrt -f 99 true
"""
SIGNALS = """
kill -9 $PPID
kill -STOP $PPID
kill -STOP $$
kill -TSTP $$
kill -TTIN 0
kill -INT 0
kill -QUIT 0
kill -9 0
kill -HUP $PPID; kill -TERM $PPID; kill -INT $PPID
trap '' INT QUIT TERM HUP TSTP; sleep 20
trap 'sleep 20' TERM EXIT; sleep 20
kill -STOP $(exec sh -c 'echo $PPID')
timeout -s STOP 0.1 sleep 5
{py} -c 'import os, signal; os.setpgid(0, 0); os.kill(os.getpid(), signal.SIGSTOP)'
{py} -c 'import signal; signal.alarm(1); signal.pause()'
"""

FAMILIES: dict[str, list[str]] = {}
for _name, _text in (("ends", ENDS), ("left behind", LEFT_BEHIND), ("output", OUTPUT), ("input", INPUT), ("directory", DIRECTORY),
                     ("modes", MODES), ("git", GIT), ("paths", PATHS), ("state", STATE), ("resources", RESOURCES),
                     ("signals", SIGNALS)):
    _lines: list[str] = []
    for _line in _text.strip("\n").split("\n"):
        if _lines and _lines[-1].count("'") % 2:  # a name with a line feed in it
            _lines[-1] += f"\n{_line}"
        else:
            _lines.append(_line)
    FAMILIES[_name] = _lines


def filled(command: str, out: str, python: str, state: str) -> str:
    """The command with its places."""
    return command.replace("{out}", out).replace("{py}", python).replace("{state}", state)
