# Draws what bench/chart has found in a sweep: $rows, with a block for each word of `kinds` (stage,
# reference, peer or ceiling); `theoretical` and `copy` in GB/s, 0 where unknown.
set terminal svg size 1150,860 enhanced font "sans-serif,15" background "#ffffff"
set key outside right top Left reverse noenhanced spacing 1.3 samplen 3
set border 3 linecolor rgb "#808080"
set tics nomirror textcolor rgb "#000000"
set grid xtics ytics linecolor rgb "#e8e8e8" linetype 1 linewidth 1

stats $rows using 1:2 nooutput
first = floor(log(STATS_min_x) / log(2) + 1e-9)
last = ceil(log(STATS_max_x) / log(2) - 1e-9)
last = last > first ? last : first + 1
highest = theoretical > STATS_max_y ? theoretical : STATS_max_y

set logscale x 2
set logscale y 10
set xrange [2.0**first : 2.0**last]
set yrange [STATS_min_y / 1.3 : highest * 1.5]
set xtics 2.0**first, last - first > 12 ? 4 : 2
set format x "2^{%L}"
set format y "%g"
set xlabel "values (n)"
set ylabel "GB/s (n × 4 bytes / median time)"

# The stages climb from dark to light, in an order that survives colour blindness and grey print;
# what they are compared with stands apart by its hue and is broken; ceilings are grey.
set palette defined (0 "#3b0f70", 0.25 "#3b528b", 0.5 "#21918c", 0.75 "#5ec962", 1 "#d8d020")
set cbrange [0:1]
count = words(kinds)
is(i, kind) = word(kinds, i) eq kind
before(i, kind) = i < 2 ? 0 : before(i - 1, kind) + is(i - 1, kind)
stages = before(count + 1, "stage")
stage_color(k) = palette(stages < 2 ? 0.0 : k / (stages - 1.0))
peer_color(k) = k % 3 == 0 ? 0xd55e00 : k % 3 == 1 ? 0xcc79a7 : 0x56b4e9
grey = 0x808080
color(i) = is(i, "stage") ? stage_color(before(i, "stage")) \
         : is(i, "peer") ? peer_color(before(i, "peer")) \
         : is(i, "ceiling") ? grey : 0x000000
dashes(i) = is(i, "stage") ? 1 : is(i, "reference") ? 2 : is(i, "ceiling") ? 3 \
          : 4 + before(i, "peer") % 2
mark(i) = is(i, "stage") ? int(word("7 5 9 11 13", before(i, "stage") % 5 + 1)) : 0

if (theoretical > 0) {
  set arrow from graph 0, first theoretical to graph 1, first theoretical nohead linecolor rgb grey
  set label sprintf("theoretical: %.0f GB/s", theoretical) at graph 0.01, first theoretical \
    offset 0, 0.6 textcolor rgb grey
}
if (copy > 0) {
  set arrow from graph 0, first copy to graph 1, first copy nohead linecolor rgb grey
  set label sprintf("copy, read + written: %.0f GB/s", copy) at graph 0.01, first copy \
    offset 0, -0.6 textcolor rgb grey
}

plot for [i = 1:count] $rows index i - 1 using 1:2 with linespoints pointtype mark(i) \
  pointsize 0.5 linecolor rgb color(i) dashtype dashes(i) linewidth 2 title columnheader(1)
