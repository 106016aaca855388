/** A small script of our own through a coordinator and two workers. */
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { makeDir, removeDir, stopEverything } from "../../../../test/e2e/harness.ts";
import { runClusterSuite } from "./cluster-suite.ts";

const suiteDir = makeDir();
mkdirSync(join(suiteDir, "testdata"));
writeFileSync(join(suiteDir, "testdata", "bids.csv"), "1,1000\n2,1500\n3,2500\n1,2600\n");
after(async () => {
  await stopEverything();
  removeDir(suiteDir);
});

const definitions = `
CREATE LOGICAL SOURCE bids(id UINT64 NOT NULL, ts UINT64 NOT NULL);

CREATE PHYSICAL SOURCE FOR bids TYPE File;
ATTACH FILE bids.csv

CREATE PHYSICAL SOURCE FOR bids TYPE TCP;
ATTACH INLINE
2,2700
9,2800

CREATE SINK counts(id UINT64 NOT NULL, n UINT64 NOT NULL) TYPE File;
`;

const text = `${definitions}
SELECT id, COUNT(*) AS n FROM bids GROUP BY (id) WINDOW TUMBLING(ts, SIZE 10 SEC) INTO counts;
----
1,2
2,2
3,1
9,1

SELECT id, ts FROM bids WHERE id = UINT64(1) INTO File();
====
SELECT id, ts FROM bids WHERE id < UINT64(2) INTO File();

SELECT id FROM bids INTO File();
----
1
2
3

SELECT nothing FROM bids INTO counts;
----
ERROR 2003

SELECT UINT64(1) / (id - UINT64(9)) AS q FROM bids INTO File();
----
ERROR 3013

SELECT id FROM bids WHERE INTO counts;
----
ERROR 2000

SELECT id FROM bids INTO Void();
----
`;

test("cases run through a cluster, and those that differ are listed", async () => {
  const lines: string[] = [];
  const totals = await runClusterSuite([{ name: "own.test", text }], {
    ...{ suiteDir, line: undefined, failuresMax: 10, verbose: false, threads: false },
    ...{ cluster: true, print: (line: string) => lines.push(line) },
  });
  const [wrong = "", figures = "", ...more] = lines;
  assert.match(wrong, /^FAILED cluster, own\.test:\d+: 3 rows expected, 6 came/);
  assert.deepEqual(more, []);
  assert.deepEqual(totals, { passed: 6, total: 7 });
  const numbers = figures.match(/\d+/g)?.map(Number) ?? [];
  const [onBoth = 0, ended, crossed = 0, keyed, both] = numbers;
  assert.ok(onBoth >= 4 && crossed > 6, figures);
  assert.deepEqual([ended, keyed, both], [5, 1, 1], figures);
});
