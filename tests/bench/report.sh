#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# report.sh: results become one page that needs no other file, with gnuplot and without.
. "$srcdir/tests/lib/tap.sh"
. "$srcdir/tests/lib/bench.sh"
plan 35
cd "$tmp" || exit 1
mkdir disk empty

check "a run of two jobs succeeds" bench shards size=16M storage=disk,null path=disk null.delay_us=30000 \
	disambiguator='<b>&"odd"</b>' epochs=2
if command -v gnuplot >/dev/null; then
	check "a run writes its report" bench report multirun -o page.html
	check "a report has charts" grep -q '<svg' page.html
	check "a report has all charts" sh -c '! grep -o "No chart: [a-z ]*" page.html'
else
	skip "a run writes its report" "gnuplot is not installed"
	skip "a report has charts" "gnuplot is not installed"
	skip "a report has all charts" "gnuplot is not installed"
fi
check "a page in Markdown has the same tables" sh -c 'grep -q "^| disk | [0-9]" page.md'
check "a report tells how busy the machine was" grep -q "How busy the machine was: disk" page.html
mkdir bin
ln -s "$builddir/ckptbench" bin/ckptbench
check "a page is made without gnuplot, too" env PATH="$tmp/bin" "$builddir/ckptbench" report multirun -o plain.html
check "a page without gnuplot says so" grep -q 'No chart: gnuplot is not installed' plain.html
check "a page names both storages" sh -c 'grep -q "<td>disk</td>\|<td>disk<" plain.html && grep -q "<td>null" plain.html'
check "a page loads nothing" sh -c '! grep -qiE "(src|href)=.[^#]|@import|url\(" plain.html'
check "texts of a user are escaped" grep -q '&lt;b&gt;&amp;&quot;odd&quot;' plain.html
check_fails "a directory without results is an error" bench report empty -o none.html
check "a directory without results makes no page" test ! -e none.html
bench shards size=1M storage=disk path=disk epochs=1,2 out=two >two.out 2>&1 && bench report two -o two.html >>two.out 2>&1
check "a page begins a run with how much faster a storage was; one epoch makes none the fastest" \
	grep -qE 'Save: disk epochs=[12] has the best median, [0-9.]+ times as fast as disk epochs=[12] \(one epoch has no range\)\.' two.html
bench shards size=1M storage=disk path=disk epochs=2 seed=1,2 out=ranges >ranges.out 2>&1
python3 - <<'END'
import json, pathlib

(path,) = pathlib.Path("ranges").rglob("run_results.json")
run = json.loads(path.read_text())
for phase, ranges in (("save", ((1, 2), (2.5, 4))), ("load", ((1, 3), (2.5, 4)))):
    for job, (least, most) in zip(run["job_results"], ranges):
        of = job["metrics"][phase]
        of["seconds_stats"].update(n=2, min=least, max=most, median=(least + most) / 2)
        of["gb_per_s"] = 2 / (least + most)
path.write_text(json.dumps(run))
END
bench report ranges -o ranges.html >>ranges.out 2>&1
check "a storage whose range is apart from all others is the fastest" \
	grep -q 'Save: disk seed=1 is fastest, 2.17 times as fast as disk seed=2\.' ranges.html
check "a storage whose range overlaps another's is not called the fastest" \
	grep -q 'Load: disk seed=1 has the best median, 1.62 times as fast as disk seed=2 (ranges overlap)\.' ranges.html
# Jobs that differ in their seed, too, of which one on s3 failed; and more jobs than a page once had room for.
bench shards size=1M storage=null,disk seed=1,2,3 path=disk out=base >base.out 2>&1
bench shards model=gpt-mini model.layers=1,2 storage=null "seed=range(1,36)" out=sweep >sweep.out 2>&1
python3 - <<'END'
import json, pathlib

def change(name, job_of):
    (path,) = pathlib.Path(name).rglob("run_results.json")
    run = json.loads(path.read_text())
    for i, job in enumerate(run["job_results"]):
        job_of(i, job)
    path.write_text(json.dumps(run))

def of_two(i, job):
    s3 = job["config"]["storage"] == "null"
    job["config"]["storage"] = "s3" if s3 else "disk"
    job["setup"]["moves_data"] = True
    for phase in "save", "load":
        job["metrics"][phase]["gb_per_s"] = job["config"]["seed"] * (2 if s3 else 1)
    if s3 and job["config"]["seed"] == 3:
        job["error"] = "Permission denied"
        del job["metrics"]

def last_is_best(i, job):
    job["setup"]["moves_data"] = True
    for phase in "save", "load":
        job["metrics"][phase]["gb_per_s"] = 1 + i / 100

change("base", of_two)
change("sweep", last_is_best)
END
bench report base -o base.html >>base.out 2>&1 && bench report sweep -o sweep.html >>sweep.out 2>&1
expect_eq "0.50 0.50 -" "$(sed -n 's/^| disk seed=[123] |.* | \([0-9.-]*\) | [0-9.-]* |$/\1/p' base.md | head -n 3 | paste -sd ' ')" \
	"a job is compared with that on s3 that differs in nothing else, if it succeeded"
expect_eq "70 1" "$(sed -n '/^| storage/,/^$/{/^| null model/p}' sweep.md | head -n 70 | sort -u | wc -l) $(
	grep -c '^1\. .*Save: null model.layers=2 seed=35 has the best median' sweep.md)" "a page has all of seventy jobs, and the last may be the best"
check "models that differ are not told as that of the first job" sh -c '
	grep -q "^models of 4.15 MB to 6.53 MB, 1 rank; " sweep.out && grep -q "^models of 4.15 MB to 6.53 MB, 1 rank\." sweep.md'
check "a sweep of hundreds of jobs comes to its table" \
	timeout -k 5 600 "$builddir/ckptbench" shards model=gpt-mini model.layers=1 storage=null warmup=0 "seed=range(1,401)" out=hundreds
check "a sweep of hundreds of jobs comes to its page" timeout -k 5 600 "$builddir/ckptbench" report hundreds -o hundreds.html
check "a heading of two columns has a line over both" \
	grep -q '<th class="g" colspan="2"><span>save</span></th>' ranges.html
check "a heading of two columns stands in the middle of both in a terminal" awk '
	/^ +save +load +CPU-s/ { save = index($0, "save") + 1; load = index($0, "load") + 1 }
	/^storage / { n = split($0, c, "GB/s"); one = length(c[1]); two = one + 4 + length(c[2]); first = index($0, " s ") + 1 }
	END { exit !(n == 3 && save > first && save <= one && load > two - (one - first) && load <= two) }' ranges.out

compiler=$(grep -h "\"compiler\"" two/*/*/run_results.json | cut -d "\"" -f 4)
case $compiler in gcc\ [0-9]* | *[Cc]lang\ [0-9]*) ok "the compiler has its name" ;; *) not_ok "the compiler has its name: $compiler" ;; esac

bench report two multirun -o all.html >all.out 2>&1
expect_eq "1 2 shards shards" "$(sed -n 's/^\([0-9]*\)\. .*/\1/p' all.md | paste -sd ' ') \
$(sed -n 's/^## [12]\. \([a-z]*\), .*/\1/p' all.md | paste -sd ' ')" "a page begins with the list of its runs"
check "runs stand in order of time, however they are given" \
	sh -c 'sed -n "s/^## //p" all.md | sort -c && grep -A2 "^## 1" all.md | grep -q multirun'
check "each line of the list leads to its run, and a chart has all runs" sh -c '
	for n in 1 2; do grep -q "href=.#part$n\"" all.html && grep -q "id=.part$n\"" all.html || exit 1; done
	grep -q "Speed of each run, in order of time" all.html && ! grep -q "Speed of each run" two.html'

# Results of somebody else: each text in them tries to be a part of the page, and a command of gnuplot.
cp -r two evil
python3 - <<'END'
import json, pathlib

EVIL = '</svg><script>x</script><img src=x onerror=x>"\n`touch done`; system "touch done"\n!touch done\n'

def turned(o, name=""):
    if isinstance(o, dict):
        return {k: turned(v, k) for k, v in o.items()}
    if isinstance(o, list):
        return [turned(v, name) for v in o]
    return EVIL if isinstance(o, str) and name not in ("format", "scenario") else o

for f in pathlib.Path("evil").rglob("*.json"):
    f.write_text(json.dumps(turned(json.loads(f.read_text()))))
END
# What gnuplot is told is kept: a text may say what it likes there, but neither ends its string nor runs a command.
mkdir gnuplot
cat >gnuplot/gnuplot <<'END'
#!/bin/sh
tee -a "$SCRIPTS" | PATH=$REAL gnuplot "$@"
END
chmod +x gnuplot/gnuplot
check "a page is made of results whose texts are hostile" \
	env REAL="$PATH" SCRIPTS="$tmp/scripts" PATH="$tmp/gnuplot:$PATH" "$builddir/ckptbench" report evil -o evil.html
expect_eq "0 0 yes" "$(grep -ciE '<(script|img)' evil.html) $(grep -ciE '<(script|img)' evil.md) \
$(grep -q '&lt;script' evil.html && echo yes)" "no text of the results is a part of the page"
expect_eq "yes 0" "$(grep -q 'touch done' scripts && echo yes) $(grep -cE '`|^!|"touch' scripts)" \
	"no text of the results is a command of gnuplot"

bench dcp_ddp_save model=gpt-mini storage=disk path=disk out=directory >directory.out 2>&1
env REAL="$PATH" SCRIPTS="$tmp/directory.scripts" PATH="$tmp/gnuplot:$PATH" "$builddir/ckptbench" report directory -o directory.html >>directory.out 2>&1
check "the bars of a directory hold all of its seconds: its plan, its files and its end" python3 - directory.scripts <<'END'
import json, pathlib, re, sys

(path,) = pathlib.Path("directory").rglob("run_results.json")
seconds = json.loads(path.read_text())["job_results"][0]["metrics"]["save"]["seconds"]
script = open(sys.argv[1]).read()
data = re.search(r'<< END_OF_DATA\n"disk save" ([^\n]*)\nEND_OF_DATA\nplot [^\n]* title "plan"[^\n]* title "files"[^\n]* title "finish"', script)
assert abs(sum(map(float, data[1].split())) / seconds - 1) < 1e-6, (data[1], seconds)
END

# What cannot be read is missing in the page, and whoever waits for the page learns it.
cp -r two cut
f=$(echo cut/*/*/run_results.json)
head -c 300 "$f" >part && mv part "$f"
bench report two cut -o cut.html >cut.out 2>cut.err
expect_eq "1 1 1 yes" "$? $(wc -l <cut.err) $(grep -c 'cut/.*run_results.json:[0-9]*: this is not JSON' cut.err) $([ -s cut.html ] && echo yes)" \
	"a result that cannot be read is told by the status, and the page has the others"
bench report cut -o none.html >cut.out 2>cut.err
expect_eq "1 1" "$? $(grep -c 'no results that can be read are below' cut.err)" "results of which none can be read make no page"
mkdir shut shut/inner
cp -r two shut/open
chmod 0 shut/inner
if [ "$(id -u)" != 0 ]; then
	bench report shut -o shut.html >shut.out 2>shut.err
	rc=$?
elif command -v setpriv >/dev/null; then
	chmod 755 "$tmp" && mkdir page && chmod 777 page
	setpriv --reuid 65534 --regid 65534 --clear-groups "$builddir/ckptbench" report shut -o page/shut.html >shut.out 2>shut.err
	rc=$?
fi
chmod 755 shut/inner
if [ -n "${rc:-}" ]; then
	expect_eq "1 1 1" "$rc $(grep -c 'shut/inner: Permission denied: left out' shut.err) $(grep -c '^report of 1 run' shut.out)" \
		"a directory that cannot be read is told by the status, too"
else
	skip "a directory that cannot be read is told by the status, too" "setpriv is not installed"
fi

mkdir many
for n in 1 2 3 4 5 6; do cp -r two many/$n; done
env REAL="$PATH" SCRIPTS="$tmp/many.scripts" PATH="$tmp/gnuplot:$PATH" "$builddir/ckptbench" report many -o many.html >many.out 2>&1
check "figures stand above bars that have room for them, and above no others" awk '
	/^\$d << /{ n = 0; data = 1; next }
	/^END_OF_DATA/ { data = 0 }
	data { n++ }
	/^plot .* with labels / { few += n < 5; many += n > 10 }
	END { exit !(few && !many) }' many.scripts
