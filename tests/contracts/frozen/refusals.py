"""What commands say to wrong calls, which print and write nothing else."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.contracts.frozen.commands import Pipe, printed, workplace
from tests.contracts.frozen.plain_text import normal

MODEL = "model --dataset graph --option model=TransE --option norm=1"
WEIGHTED = "model --dataset weighted --option model=TransE --option norm=1"
NEGATIVES = "--valid-negatives false.txt --test-negatives false.txt"
LONG = "x" * 300

FILES = {
    "false.txt": "ant\teats\tdog\nbee\tfears\tcat\n",
    "names.tsv": "eats\tis fed by\n",
    "strange.tsv": "Q1\tUniverse\n",
    "nobody.tsv": "nobody\teats\t?\n",
    "ranks.txt": "h\tr\tt\tfrank_left\tfrank_right\n",
    "ids.csv": "head,relation,tail,tail_rank\n0,1,2,1\n",
    "slices.yaml": "dataset: graph\nmodel: nowhere\nby: [side, cardinalty]\nmetrics: [mmr]\n",
    "zero.yaml": 'dataset: ./graph\nmodel: {path: model, options: {model: DistMult}}\noutput: "a\\0b"\n',
    "predictions.txt": "ant eats bee\nHeads: ant\t0.5\t\nTails: bee\t0.5\tcat\t0.25\t\n",
    "notes/notes.md": "hello",
    "sub/wrong.yaml": "dataset: graph\nmodel: model\ntise: realistic\n",
    "sub/config.yaml": "dataset: graph\nmodel: model\n",
}
"""beside the graph and the model of the other contracts"""

PREPARED = f"""
run config.yaml --out run
classify {MODEL} {NEGATIVES} --out labels
evaluate {WEIGHTED} --task confidences --out confidences
evaluate {MODEL} --sides tail --out tails
evaluate baseline:popularity --dataset dated --out timed
""".strip().splitlines()

REFUSED = f"""
evalute
xyzzy
--colour
evaluate model
evaluate --dataset graph
evaluate modl --dataset graph
evaluate model --dataset ./grph
evaluate model --dataset uml
evaluate model --dataset graph
evaluate model --dataset model
evaluate model --dataset graph/test.txt
evaluate model --dataset nations --option model=TransE --option norm=1
evaluate model --dataset nations --layout labels --option model=TransE --option norm=1
evaluate model --dataset nations --layout nope --option model=TransE --option norm=1
evaluate model --dataset nations --layout pykeen --option model=TransE --option norm=1
evaluate model --dataset {LONG}
evaluate model --dataset ''
evaluate graph --dataset graph
evaluate graph/test.txt --dataset graph
evaluate /dev/null --dataset graph
evaluate {LONG} --dataset graph
evaluate config.yaml/x --dataset graph
evaluate . --dataset graph
evaluate {MODEL} --option model=TransEE
evaluate {MODEL} --option nrm=1
evaluate {MODEL} --option norm=3
evaluate {MODEL} --option norm
evaluate {MODEL} --option =1
evaluate {MODEL} --option norm=[
evaluate {MODEL} --option norm=[1]
evaluate {MODEL} --option 'norm={{a: 1}}'
evaluate {MODEL} --option norm=null
evaluate {MODEL} --option norm=2020-01-01
evaluate {MODEL} --option norm=2020-99-99
evaluate {MODEL} --option 'norm=!!int x'
evaluate {MODEL} --option path=worst
evaluate {MODEL} --option format=worst
evaluate {MODEL} --option dataset=worst
evaluate {MODEL} --option nan=worst
evaluate {MODEL} --checkpoint-format nativ
evaluate {MODEL} --layout label
evaluate {MODEL} --ties real
evaluate {MODEL} --batch-size many
evaluate {MODEL} --colour red
evaluate {MODEL} --split tst --unseen drp --nan wurst --protocol pykeeen --batch-size 0 --threads -1 --device gpu
evaluate {MODEL} --sides tale
evaluate {MODEL} --filter train,tset
evaluate {MODEL} --corruption unifrom:count=3
evaluate {MODEL} --corruption uniform
evaluate {MODEL} --corruption uniform:count
evaluate {MODEL} --corruption uniform:cuont=3
evaluate {MODEL} --metric mrr,hitz@3
evaluate {MODEL} --metric none
evaluate {MODEL} --by none
evaluate {MODEL} --memory-limit much
evaluate {MODEL} --by sead
evaluate {MODEL} --by time
evaluate {MODEL} --times al
evaluate {MODEL} --times static
evaluate {MODEL} --names nams.tsv
evaluate {MODEL} --names strange.tsv
evaluate {MODEL} --set by=7
evaluate {MODEL} --set evaluation.kernl=auto
evaluate {MODEL} --set evaluation.split=tset
evaluate {MODEL} --set evaluation
evaluate {MODEL} --fail-under mmr=.3
evaluate {MODEL} --fail-under mr=3
evaluate {MODEL} --fail-over mrr=.3
evaluate {MODEL} --fail-under mrr
evaluate {MODEL} --fail-under mrr=
evaluate {MODEL} --fail-under =.3
evaluate {MODEL} --fail-under mrr=many
evaluate {MODEL} --fail-under mrr=nan
evaluate {MODEL} --estimate 0
evaluate {MODEL} --estimate 0.1 --level 1.5
evaluate {MODEL} --estimate 0.1 --set evaluation.estimate.metric=median
evaluate {MODEL} --estimate 0.1 --set evaluation.estimate.triples=500
evaluate {MODEL} --estimate 0.1 --intervals triple
evaluate {MODEL} --estimate 0.1 --set evaluation.keep.predictions=3
evaluate {MODEL} --intervals triple --level 95
evaluate {MODEL} --out config.yaml
evaluate {MODEL} --out config.yaml/run
evaluate {MODEL} --out graph/test.txt
evaluate {MODEL} --out {LONG}
evaluate {MODEL} --out run --split valid
evaluate run --ties bog
evaluate run --option norm=2
evaluate {WEIGHTED} --task confidence
evaluate {WEIGHTED} --task confidences --set task.calibration=platt
evaluate {WEIGHTED} --task confidences --set task.high_confidence=2.0
evaluate {WEIGHTED} --task confidences --unseen worst
evaluate {WEIGHTED} --task confidences --sides left
evaluate {WEIGHTED} --task confidences --split valid
classify {WEIGHTED}
classify {MODEL} --metric accurcy
classify {MODEL} --metric hits@10
classify {MODEL} --calibration plat
classify {MODEL} --valid-negatives fals.txt
classify {MODEL} --valid-negatives false.txt
classify {MODEL} {NEGATIVES} --corruption uniform:count=3
classify {MODEL} --corruption uniform:count=0
classify {MODEL} --corruption uniformly
classify {MODEL} --set task.mapping.kind=raw
classify {MODEL} --unseen worst
answers {MODEL} --coverage 1
answers {MODEL} --nonconformity softmaks
answers {MODEL} --per relations
answers {MODEL} --out sets.csv
answers {MODEL} --out run/ranks.parquet
answers model
answers run --option norm=2
answers run --dataset graph
answers runn
answers run --valid run --nonconformity gap
answers run --nan hide
explain {MODEL} --protocols libkeg
explain {MODEL} --protocols libkge --metric map
explain {MODEL} --protocols libkge --set ties=random
explain {MODEL} --protocols libkge --set evaluation.filter=[]
explain {MODEL} --protocols libkge --set 'model={{kind: pykeen, model: transe}}'
explain {MODEL} --protocols libkge --split tset
explain rnu --protocols libkge
predict {MODEL} --query atn eats ?
predict {MODEL} --query ant eats bee
predict {MODEL} --query ? eats ?
predict {MODEL} --queries quer.tsv
predict {MODEL} --queries nobody.tsv
predict {MODEL} --queries floats.npy
predict {MODEL} --queries beyond.npy
predict {MODEL} --query ant eats ? --split test
predict {MODEL} --query ant eats ? --queries nobody.tsv
predict {MODEL} --split tset
predict {MODEL} --out p.txt
predict {MODEL} --out run/ranks.parquet
predict {MODEL} --out-format ogb-lsc
predict {MODEL} --out-format ogb-lsc --out x -k 5
predict {MODEL} --out-format ogb-lsc --out x.npz
predict {MODEL} --out-format ogb-lsc --out x.npz --sides head
predict {MODEL} --at 2020-01-01
predict {MODEL} --set evaluation.times=static
predict {MODEL} --set evaluation.keep.predictions=3
predict {MODEL} --set 'model={{kind: pykeen, model: transe}}'
audit grph
audit model
audit graph --threshold 0
audit graph --threshold nan
audit graph --threshold some
audit graph --out config.yaml
convert {MODEL} --out m.npz
convert model --out m.safetensors
convert modle --out m.safetensors
convert model --option model=TransE --out m.safetensors --checkpoint-format libkg
convert {MODEL} --out run/ranks.parquet
convert model --option model=TransE --out m.safetensors --dataset grph
convert model --option model=TransE --out m.safetensors --layout openke
convert model/entities.tsv --out fast
convert graph --out model
convert graph --out model --force
convert graph --out g.safetensors
convert graph --out 'my g.safetensors'
convert graph --out fast --option norm=1
convert graph --out fast --layout opnke
convert grph --out fast
inspect
inspect no/such
inspect nation
inspect config.yaml
inspect graph/test.txt
inspect run/config.yaml
inspect model
inspect model --checkpoint-format pykene
inspect graph --layout opnke
inspect graph --checkpoint-format native
inspect .
inspect notes
inspect model --option model
inspect model --option model=ComplX
inspect model --option model=DistMult --option 1=2
inspect model --option model=DistMult --option path=worst
inspect model --option 'model=!!timestamp x'
inspect /dev/null
inspect {LONG}
inspect config.yaml/x
inspect predictions.txt
inspect predictions.txt --dataset grph
inspect graph --names strange.tsv
inspect run --names names.tsv
negatives graph --out n.tsv
negatives graph --corruption uniform
negatives graph --corruption unifrom:count=3 --out n.tsv
negatives graph --corruption '' --out n.tsv
negatives graph --corruption uniform --out n.tsv
negatives graph --corruption uniform:count=0 --out n.tsv
negatives graph --corruption uniform:count=-3 --out n.tsv
negatives graph --corruption uniform:count=x --out n.tsv
negatives graph --corruption uniform:count=1.5 --out n.tsv
negatives graph --corruption uniform:count={2**63} --out n.tsv
negatives graph --corruption uniform:count=3,seed=-1 --out n.tsv
negatives graph --corruption uniform:count=3,seed={2**63} --out n.tsv
negatives graph --corruption uniform:count=3,path=x --out n.tsv
negatives graph --corruption all:count=3 --out n.tsv
negatives graph --corruption file --out n.tsv
negatives graph --corruption file:path=none.tsv --out n.tsv
negatives graph --corruption file:path=graph --out n.tsv
negatives grph --corruption uniform:count=3 --out n.tsv
negatives model --corruption uniform:count=3 --out n.tsv
negatives graph --corruption uniform:count=3 --split tst --out n.tsv
negatives graph --corruption uniform:count=3 --split tst --out false.txt --force
negatives graph --corruption uniform:count=3 --filter tran --out n.tsv
negatives graph --corruption uniform:count=3 --layout lbls --out n.tsv
negatives graph --corruption uniform:count=3 --out n.csv
negatives graph --corruption uniform:count=3 --out n
negatives graph --corruption uniform:count=3 --out graph
negatives graph --corruption uniform:count=3 --out config.yaml/n.tsv
negatives graph --corruption uniform:count=3 --out config.yaml/n.parquet
negatives graph --corruption uniform:count=3 --out {LONG}.tsv
negatives graph --corruption uniform:count=3 --out /proc/none/n.tsv
list metric
list metrics models formats
list corruptions unifrom
run
run confg.yaml
run graph
run .
run run
run graph/test.txt
run run/metrics.json
run slices.yaml
run config.yaml sub/wrong.yaml --out new
run config.yaml sub/config.yaml --out new
run zero.yaml
run /dev/null
run {LONG}
run ''
run config.yaml --set x
run config.yaml --out
run config.yaml --out config.yaml
run config.yaml --out graph/test.txt
run config.yaml --out ''
run config.yaml --out run --set evaluation.split=valid
run config.yaml --out new --set "output=''"
run config.yaml --set "output=''"
run config.yaml --out new --set evaluation.memory_limit=2
run config.yaml --out new --set protocol=ogb
run config.yaml --out new --set dataset.layout=pykeen
run config.yaml --out new --set 'intervals={{unit: triples}}'
run config.yaml --out new --set 'intervals={{level: 95}}'
run config.yaml --out new --set 'intervals={{of: 3}}'
run config.yaml --out new --set intervals=triples
run config.yaml --out new --set 'task={{kind: classification}}' --set 'intervals={{unit: query}}'
run config.yaml --out new --set 'task={{kind: classification}}' --set by=seen
summarize rn
summarize graph
summarize config.yaml/run
summarize /dev/null
summarize ''
summarize {LONG}
summarize run --metric none
summarize run --by none
summarize run --metric hits
summarize run --metric hits@0
summarize run --metric hits@-1
summarize run --metric hits@1.5
summarize run --metric hits@ten
summarize run --metric hits@1٣
summarize run --metric mr@3
summarize run --metric mmr --metric hitz@3
summarize run --metric ''
summarize run --metric .
summarize run --metric left.mrr
summarize run --metric graded-ndcg@10
summarize run --ties real
summarize run --popularity 1 11
summarize run --popularity nan 1
summarize run --popularity one 1
summarize run --split valid
summarize run --by relatoin
summarize run --by ''
summarize run --by relation --dataset graph
summarize run --by relation --names config.yaml
summarize run --dataset graph
summarize run --filter train
summarize run --filter none --filter train
summarize run --setting raw
summarize run --unmatched drop
summarize run --columns h
summarize run --intervals triples
summarize run --level 95
summarize run --digits -1
summarize run --calibration platt
summarize run --metric mrr --high-confidence 0.5
summarize run/ranks.parquet --by seen
summarize labels --ties optimistic
summarize labels --by tail
summarize labels --seed 1
summarize labels --chance exact
summarize labels --popularity 1 1
summarize labels --high-confidence 0.5
summarize labels --metric roc-auc
summarize labels/labels.parquet
summarize confidences --high-confidence 1.5
summarize confidences --by side
summarize confidences --calibration platt
summarize confidences --chance exact
summarize confidences --popularity 1 1
summarize ranks.txt
summarize ranks.txt --dataset grph
summarize ids.csv --dataset graph
compare run ./run
compare run run/ranks.parquet
compare a=run a=tails
compare =run tails
compare run rnu
compare run ''
compare run tails
compare run timed --allow split,dataset
compare run tails --dataset graph
compare run tails --reference ran
compare run tails --draws 0
compare run tails --level 95
compare run tails --intervals row
compare run tails --allow triple
compare run tails --metric mmr
compare run tails --by cardinalty
compare run tails --filter train
compare run ids.csv
compare run/metrics.json run/config.yaml
report run --intervals entity
plot run --kind distribution --out ranks.sgv
""".strip().splitlines()


def contents(folder: Path) -> dict[Path, bytes]:
    """Read every file; folders are empty."""
    return {path: path.read_bytes() if path.is_file() else b"" for path in folder.rglob("*")}


def refusals() -> dict[str, object]:
    found = {}
    with workplace() as folder:
        for name, content in FILES.items():
            Path(name).parent.mkdir(exist_ok=True)
            Path(name).write_text(content)
        np.save("floats.npy", np.ones((2, 2)))
        np.save("beyond.npy", np.array([[0, 0], [99, 0]]))
        for command in PREPARED:
            assert printed(command, Pipe())[0] == 0, command
        before = contents(folder)
        for command in REFUSED:
            code, out, errors = printed(command, Pipe())
            assert (code > 0, out) == (True, ""), command
            assert contents(folder) == before, command
            lines = normal(errors, folder).splitlines()
            found[f"kgeval {command}"] = lines if code == 2 else {"exit code": code, "errors": lines}
    return found


CONTRACTS = {"refusals": refusals}
