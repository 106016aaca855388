/**
 * `capstan stream run` as a person starts it: results, errors, Ctrl-C, and a query that is killed
 * again and again and goes on from its checkpoints.
 */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { launcher } from "./harness.ts";

const folder = await mkdtemp(join(tmpdir(), "capstan-stream-run-"));
const running = new Set<ChildProcess>();
after(async () => {
  for (const child of running) child.kill("SIGKILL");
  await rm(folder, { recursive: true, force: true });
});

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Starts `capstan stream …` in the folder; `during` may send it signals. */
async function stream(
  args: readonly string[],
  during?: (child: ChildProcess) => Promise<void>,
): Promise<Ended> {
  const child = spawn(process.execPath, [launcher, "stream", ...args], {
    cwd: folder,
    env: { ...process.env, NO_COLOR: "1" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  running.add(child);
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const closed = once(child, "close");
  await during?.(child);
  const [code] = (await closed) as [number | null];
  running.delete(child);
  return { code, stdout, stderr };
}

async function until(isTrue: () => boolean, child: ChildProcess): Promise<void> {
  while (!isTrue() && child.exitCode === null && child.signalCode === null) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

const write = async (name: string, text: string): Promise<void> =>
  await writeFile(join(folder, name), text);
const linesOf = async (name: string): Promise<readonly string[]> =>
  (await readFile(join(folder, name), "utf8")).split("\n").sort();

const tables = `CREATE LOGICAL SOURCE bids (id UINT64, price UINT64, ts UINT64);
CREATE PHYSICAL SOURCE FOR bids TYPE File SET('bids.csv' AS "SOURCE".FILE_PATH);
`;

test("[SU1] rows are printed, progress goes to standard error, and errors have their place", async () => {
  await write("bids.csv", "1,10,1000\n2,20,1500\n1,30,2200\n");
  await write(
    "sums.sql",
    `${tables}CREATE SINK out TYPE Print;
SELECT start, id, SUM(price) AS total FROM bids GROUP BY id WINDOW TUMBLING(ts, SIZE 1 SEC) INTO out;
`,
  );
  const sums = await stream(["run", "sums.sql", "--json"]);
  assert.equal(sums.code, 0, sums.stderr);
  assert.equal(sums.stdout, "1000,1,10\n1000,2,20\n2000,1,30\n");
  const last = JSON.parse(sums.stderr.trim().split("\n").at(-1) ?? "") as Record<string, unknown>;
  assert.deepEqual([last.rows_in, last.rows_out, last.late], [3, 3, 0]);

  const checked = await stream(["check", "sums.sql"]);
  assert.equal(checked.code, 0, checked.stderr);
  assert.match(checked.stdout, /aggregate over windows of 1 s/);

  await write("wrong.sql", `${tables}SELECT prise FROM bids INTO Print();\n`);
  const wrong = await stream(["run", "wrong.sql"]);
  assert.equal(wrong.code, 1);
  assert.equal(wrong.stdout, "");
  assert.match(wrong.stderr, /error 2003: .*prise.*\(line 3, column 8\)\nhint: {2}.*price/);

  const absent = await stream(["run", "absent.sql"]);
  assert.equal(absent.code, 2);
  assert.match(absent.stderr, /absent.sql cannot be read/);
});

test("[SU4] Ctrl-C ends a query that follows a file, and its rows are complete", async () => {
  await write("bids.csv", "1,10,1000\n2,20,1500\n1,30,2200");
  await write(
    "follow.sql",
    `CREATE LOGICAL SOURCE bids (id UINT64, price UINT64, ts UINT64);
CREATE PHYSICAL SOURCE FOR bids TYPE File
  SET('bids.csv' AS "SOURCE".FILE_PATH, TRUE AS "SOURCE".FOLLOW);
CREATE SINK out TYPE File SET('follow.csv' AS "SINK".FILE_PATH);
SELECT start, SUM(price) AS total FROM bids WINDOW TUMBLING(ts, SIZE 1 SEC) INTO out;
`,
  );
  let progress = "";
  const ended = await stream(["run", "follow.sql"], async (child) => {
    child.stderr?.on("data", (text: string) => {
      progress += text;
    });
    await until(() => / 2 rows in/.test(` ${progress}`), child);
    child.kill("SIGINT");
  });
  assert.equal(ended.code, 130, ended.stderr);
  // The third record has no end yet, so it is none.
  assert.equal(await readFile(join(folder, "follow.csv"), "utf8"), "1000,30\n");
});

for (const parallelism of [1, 2]) {
  test(`[SU15] parallelism ${parallelism}: a query that is killed again and again gives each result once`, async () => {
    await killAgain(parallelism);
  });
}

async function killAgain(parallelism: number): Promise<void> {
  const rows: string[] = [];
  for (let row = 0; row < 400_000; row += 1) rows.push(`${row % 97},${row % 1_009},${row * 3}\n`);
  await write("bids.csv", rows.join(""));
  const statements = (out: string): string => `${tables}
CREATE SINK out TYPE File SET('${out}' AS "SINK".FILE_PATH);
SELECT start, id, SUM(price) AS total, COUNT(*) AS n FROM bids GROUP BY id
WINDOW SLIDING(ts, SIZE 10 SEC, ADVANCE BY 2 SEC)
INTO out SET('20 MS' AS "QUERY".CHECKPOINT_INTERVAL, 4096 AS "QUERY".BUFFER_SIZE);
`;
  const state = `state-${parallelism}`;
  const resumed = [
    "run",
    "killed.sql",
    "--checkpoint",
    state,
    "--parallelism",
    `${parallelism}`,
  ] as const;
  await write("whole.sql", statements("whole.csv"));
  await write("killed.sql", statements("killed.csv"));
  const whole = await stream(["run", "whole.sql"]);
  assert.equal(whole.code, 0, whole.stderr);

  const current = join(folder, state, "query-1", "current.json");
  const checkpointOf = (): number => {
    if (!existsSync(current)) return 0;
    return (JSON.parse(readFileSync(current, "utf8")) as { checkpoint: number }).checkpoint;
  };
  let kills = 0;
  for (let round = 0; round < 4; round += 1) {
    const before = checkpointOf();
    const ended = await stream(resumed, async (child) => {
      // Some are killed right behind a checkpoint, some a while later.
      await until(() => checkpointOf() > before + round, child);
      await new Promise((resolve) => setTimeout(resolve, Math.random() * round * 20));
      child.kill("SIGKILL");
    });
    if (ended.code === null) kills += 1;
  }
  assert.ok(kills >= 3, `${kills} kills`);
  const last = await stream(resumed);
  assert.equal(last.code, 0, last.stderr);
  assert.match(last.stderr, /goes on from checkpoint/);
  assert.deepEqual(await linesOf("killed.csv"), await linesOf("whole.csv"));

  const again = await stream(resumed);
  assert.equal(again.code, 0, again.stderr);
  assert.deepEqual(await linesOf("killed.csv"), await linesOf("whole.csv"));
}
