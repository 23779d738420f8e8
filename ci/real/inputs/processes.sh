# What a shell does with other processes: substitution, pipelines, jobs, and another program.
echo "substituted $(echo one; echo two)"
echo "status $(exit 3)$?"
name=outer
(name=inner; echo "$name")
echo "$name"
printf 'b\na\nc\n' | while read -r line; do echo "line $line"; done
{ echo to; echo the; echo end; } | { read -r first; read -r second; echo "$first $second"; }
echo from a shell | /bin/child an argument
echo "child ended with $?"
(exit 6) &
wait $!
echo "job ended with $?"
/bin/hello | { read -r first; echo "hello says $first"; }
if /bin/none 2>/dev/null; then echo found; else echo "not found: $?"; fi
