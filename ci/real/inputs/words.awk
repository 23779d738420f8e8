# Counts words, and writes the most frequent ones.
{
    gsub(/[^a-z ]/, " ")
    for (i = 1; i <= NF; i++)
        count[$i]++
}
function more(a, b) {
    return count[a] > count[b] || count[a] == count[b] && a < b
}
END {
    for (word in count)
        list[++n] = word
    for (i = 1; i <= 10; i++)
        for (j = n; j > i; j--)
            if (more(list[j], list[j - 1])) {
                swap = list[j]; list[j] = list[j - 1]; list[j - 1] = swap
            }
    for (i = 1; i <= 10; i++)
        printf "%-12s %5d %.2f\n", list[i], count[list[i]], sqrt(count[list[i]])
}
