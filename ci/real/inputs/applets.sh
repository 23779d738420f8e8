# Applets of busybox in pipes: the shell forks, and each side is an applet.
cd /tmp
seq 1 40 | awk '{ s += $1; print $1 * $1 % 17 } END { print "sum", s }' | sort | uniq -c | sort -k1,1nr -k2 | head -n 5
mkdir -p tree/sub
seq 1 20 >tree/numbers
echo text >tree/sub/file
tar cf tree.tar tree
tar tf tree.tar | sort
rm -r tree
tar xf tree.tar
cat tree/numbers tree/sub/file | grep -v '^1' | tr '\n' ' '
echo
find tree -type f | sort | xargs sha256sum
sed -n 's/^\(1\)\([0-9]\)$/\2\1/p' tree/numbers | tac
gzip -c tree/numbers | gunzip -c | wc
