# What a shell does by itself: loops, functions, expansions, here-documents, traps, eval.
trap 'echo "exit with $?"' EXIT

i=0
while [ "$i" -lt 100 ]; do
    i=$((i + 1))
    [ $((i % 25)) -ne 0 ] || echo "$i"
done

factorial() {
    if [ "$1" -le 1 ]; then
        result=1
    else
        factorial $(($1 - 1))
        result=$((result * $1))
    fi
}
factorial 12
echo "$result"

for word in "one two" three; do
    case $word in
        *' '*) echo "with a space: $word" ;;
        t*) echo "with a t: $word" ;;
    esac
done

path=/usr/share/doc/file.tar.gz
echo "${path##*/} ${path%%.*} ${path%.gz} ${#path} ${none:-default} ${path:+set}"
set -- a "b c" d
echo "$# $2 $*"
shift
echo "$1"
IFS=:
for part in ${path}:x:y; do echo "part $part"; done
unset IFS

while read -r key value; do
    echo "$key is $value"
done <<TEXT
colour green
size $((6 * 7))
TEXT

eval 'name=value; echo "$name"'
trap 'echo "signal"' USR1
kill -USR1 $$
getopts ab: option -b argument && echo "$option $OPTARG"
printf '%s-%03d-%x\n' text 7 255
f() { local name=local; return 3; }
f || echo "returned $? $name"
exit 4
