/**
 * `capstan stream run` as a person starts it: results, errors, Ctrl-C, and a query that is killed
 * again and again and goes on from its checkpoints.
 */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { FollowedBids } from "./followed-bids.ts";
import { killStreams, StreamCommand, type StreamEnded } from "./stream-command.ts";

const folder = await mkdtemp(join(tmpdir(), "capstan-stream-run-"));
after(async () => {
  killStreams();
  await rm(folder, { recursive: true, force: true });
});

/** Runs `capstan stream …` in the folder to its end; `during` may send it signals. */
async function stream(
  args: readonly string[],
  during?: (command: StreamCommand) => Promise<void>,
): Promise<StreamEnded> {
  const command = new StreamCommand(folder, args);
  await during?.(command);
  return await command.ended();
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
  const ended = await stream(["run", "follow.sql"], async (command) => {
    await command.until(() => / 2 rows in/.test(` ${command.stderr}`));
    command.kill("SIGINT");
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
  const name = `killed-${parallelism}`;
  const bids = new FollowedBids(folder, `${name}.csv`);
  const sink = (file: string): string => `File('${file}' AS "SINK".FILE_PATH)`;
  await write("killed.sql", bids.statements("followed", sink(`${name}.out`), "20 MS"));
  const resumed = ["run", "killed.sql", "--checkpoint", name, "--parallelism", `${parallelism}`];

  const current = join(folder, name, "query-1", "current.json");
  const checkpointOf = (): number => {
    if (!existsSync(current)) return 0;
    return (JSON.parse(readFileSync(current, "utf8")) as { checkpoint: number }).checkpoint;
  };
  for (let round = 0; round < 4; round += 1) {
    const before = checkpointOf();
    const ended = await stream(resumed, async (command) => {
      // Some are killed right behind a checkpoint, some a while later.
      await command.until(() => checkpointOf() > before);
      bids.grow();
      await command.until(() => checkpointOf() > before + round);
      await new Promise((resolve) => setTimeout(resolve, Math.random() * round * 20));
      command.kill("SIGKILL");
    });
    assert.equal(ended.code, null, ended.stderr);
  }
  bids.close();
  await write("whole.sql", bids.statements("whole", sink(`${name}.whole`), "20 MS"));
  const whole = await stream(["run", "whole.sql"]);
  assert.equal(whole.code, 0, whole.stderr);
  const resultsOf = async (file: string): Promise<readonly string[]> =>
    (await linesOf(file)).filter((line) => !bids.isLast(Number(line.split(",")[0])));
  const wanted = await resultsOf(`${name}.whole`);
  assert.ok(wanted.length > 500, `${wanted.length} results`);

  for (const _run of ["the rest", "nothing more"]) {
    const last = await stream(resumed, async (command) => {
      await command.until(() => command.stderr.includes("goes on from checkpoint"));
      await command.until(async () => (await resultsOf(`${name}.out`)).length >= wanted.length);
      command.kill("SIGINT");
    });
    assert.equal(last.code, 130, last.stderr);
    assert.match(last.stderr, /goes on from checkpoint/);
    assert.deepEqual(await resultsOf(`${name}.out`), wanted);
  }
}
