# Writes SIZE bytes of text, with the redundancy of a language: frequent words are short.
function random(below) {
    state = (state * 16807) % 2147483647
    return state % below
}
function word(number,    text) {
    for (text = ""; number > 0; number = int(number / 20))
        text = text substr("etaoinshrdlcumwfgypb", number % 20 + 1, 1)
    return text
}
BEGIN {
    state = 20261123
    for (written = 0; written < size; ) {
        line = ""
        for (i = 0; i < 11; i++)
            line = line (i ? " " : "") word(random(random(2) ? 60 : 4000) + 1)
        line = line (random(4) ? "," : ".")
        print line
        written += length(line) + 1
    }
}
