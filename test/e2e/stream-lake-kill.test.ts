/**
 * A query with a Lake sink, killed by SIGKILL in every phase of its checkpoints and started again:
 * in the end the table has each result once. The phases are found by what the store and the
 * directories say. A test holds the store's lock where a phase would be over too soon.
 *
 * Longer, and at other moments: `CAPSTAN_TEST_KILLS=100 CAPSTAN_TEST_SEED=7 node --test
 * test/e2e/stream-lake-kill.test.ts`.
 */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, test } from "node:test";
import { createPrng } from "../../src/ground/kernel/prng.ts";
import { openDataDir } from "../../src/ground/process/index.ts";
import { openLakeWorld } from "../../src/kinds/stream/run/testing/lake-world.ts";
import { FollowedBids } from "./followed-bids.ts";
import { killStreams, StreamCommand } from "./stream-command.ts";

const seed = process.env.CAPSTAN_TEST_SEED ?? "1";
const more = Number(process.env.CAPSTAN_TEST_KILLS ?? 0);
const world = await openLakeWorld();
const { home, dataDir } = world;
const store = new DatabaseSync(openDataDir(dataDir).storePath, { timeout: 60_000 });
after(async () => {
  killStreams();
  store.close();
  await world.close();
});

/** How far a query is, as its store and its directories say. */
interface Moment {
  /** The last complete checkpoint. */
  readonly checkpoint: number;
  /** The manifests in the checkpoint directory. */
  readonly manifests: readonly string[];
  readonly rowCount: number;
  /** The files in the table's directory, whether the lake knows them or not. */
  readonly files: readonly string[];
}

interface Phase {
  readonly name: string;
  readonly interval: string;
  /**
   * Whether the store's lock is held from before the rows are there until behind the kill, so that
   * no transaction comes between.
   */
  readonly isLocked?: true;
  /** Whether the query is asked to end when the rows have reached the sink. */
  readonly isDrained?: true;
  /** Whether the process is killed now; `begun`: what there was before the rows. */
  isNow(now: Moment, begun: Moment, command: StreamCommand): boolean;
}

const hasMore = (now: readonly string[], then: readonly string[]): boolean =>
  now.some((name) => !then.includes(name));

const isInSink = ({ stderr }: StreamCommand): boolean => /"rows_out":[1-9]/.test(stderr);
const never = "1 HOUR";

/** There is no checkpoint yet in the first one. */
const before: Phase = {
  name: "rows are in the sink, and no checkpoint begins",
  interval: never,
  isNow: (_now, _begun, command) => isInSink(command),
};
const phases: readonly Phase[] = [
  { name: "the query was opened", interval: "20 MS", isNow: () => true },
  before,
  {
    name: "files are put, and the store does not know them",
    interval: "100 MS",
    isLocked: true,
    isNow: (now, begun) => hasMore(now.files, begun.files),
  },
  {
    name: "the manifest is written, and its transaction has to wait",
    interval: "100 MS",
    isLocked: true,
    isNow: (now, begun) =>
      hasMore(now.files, begun.files) && hasMore(now.manifests, begun.manifests),
  },
  {
    name: "the transaction has just committed rows",
    interval: "20 MS",
    isNow: (now, begun) => now.rowCount > begun.rowCount,
  },
  {
    name: "checkpoints follow the one that committed rows",
    interval: "20 MS",
    isNow: (now, begun) => now.rowCount > begun.rowCount && now.checkpoint > begun.checkpoint + 3,
  },
];

for (const parallelism of [1, 2]) {
  test(`[SU15, SU42] parallelism ${parallelism}: a Lake sink has each row once, in whatever phase it is killed`, async () => {
    const name = `p${parallelism}`;
    const victim = new Victim(name, parallelism);
    const prng = createPrng(`${seed} ${name}`);
    const drawn = Array.from({ length: more }, () => prng.below(phases.length));
    for (const phase of [before, ...phases, ...drawn.map((at) => phases[at] as Phase)]) {
      await victim.kill(phase);
    }
    const wanted = await victim.runOnce();
    assert.ok(wanted.length > 1_000, `${wanted.length} results`);
    assert.deepEqual(await victim.runToEnd(wanted.length), wanted);
    assert.deepEqual(await world.check(), []);
  });
}

/** A query that is killed and started again, over a file that grows. */
class Victim {
  readonly #name: string;
  readonly #bids: FollowedBids;
  readonly #parallelism: number;
  readonly #directory: string;

  constructor(name: string, parallelism: number) {
    this.#name = name;
    this.#bids = new FollowedBids(home, `${name}.csv`);
    this.#parallelism = parallelism;
    this.#directory = join(home, `state-${name}`, "query-1");
  }

  /** Starts the query, adds rows, and kills it in the phase. */
  async kill(phase: Phase): Promise<void> {
    const command = await this.#start(phase.interval);
    let isPhase = false;
    while (!isPhase) {
      const then = this.#moment().checkpoint;
      // A checkpoint has just ended, so that the rows are part of the next one.
      if (phase.isLocked && phase.interval !== never) {
        await command.until(() => this.#moment().checkpoint > then);
      }
      if (phase.isLocked) store.exec("BEGIN IMMEDIATE");
      const begun = this.#moment();
      this.#bids.grow();
      if (phase.isDrained) {
        await command.until(() => isInSink(command));
        command.kill("SIGINT");
      }
      let isMissed = false;
      await command.until(() => {
        const now = this.#moment();
        isPhase = phase.isNow(now, begun, command);
        // One that began before the rows were read waits for the lock, and the next one for it.
        isMissed = phase.isLocked === true && hasMore(now.manifests, begun.manifests);
        return isPhase || isMissed;
      });
      if (isPhase) command.kill("SIGKILL");
      if (isPhase || command.isOver)
        assert.equal((await command.ended()).code, null, phase.name + command.stderr);
      if (phase.isLocked) store.exec("ROLLBACK");
    }
  }

  /** What the query gives that runs over the whole file without a fault. */
  async runOnce(): Promise<readonly unknown[]> {
    this.#bids.close();
    const table = `whole_${this.#name}`;
    this.#write("whole.sql", "whole", table, never);
    const { code, stderr } = await this.#run(["whole.sql"]).ended();
    assert.equal(code, 0, stderr);
    return await this.#results(table);
  }

  /** Lets the query end, and returns what is in the table then. */
  async runToEnd(rowCount: number): Promise<readonly unknown[]> {
    const command = await this.#start("20 MS");
    await command.until(() => this.#moment().rowCount >= rowCount);
    command.kill("SIGINT");
    const { code, stderr } = await command.ended();
    assert.equal(code, 130, stderr);
    assert.match(stderr, /goes on from checkpoint/);
    return await this.#results(this.#name);
  }

  /** Resolves when the query is open: until then it may write to the store. */
  async #start(interval: string): Promise<StreamCommand> {
    this.#write(`${this.#name}.sql`, "followed", this.#name, interval);
    const args = [`${this.#name}.sql`, "--checkpoint", `state-${this.#name}`, "--json"];
    const command = this.#run([...args, "--parallelism", `${this.#parallelism}`]);
    await command.until(() =>
      this.#moment().checkpoint === 0
        ? this.#count("ducklake_table WHERE table_name = ?", this.#name) > 0
        : command.stderr.includes("goes on from"),
    );
    return command;
  }

  #run(args: readonly string[]): StreamCommand {
    return new StreamCommand(home, ["run", "--data-dir", dataDir, ...args]);
  }

  #write(file: string, from: "followed" | "whole", table: string, interval: string): void {
    const text = this.#bids.statements(from, `Lake('${table}' AS "SINK".TABLE)`, interval);
    writeFileSync(join(home, file), text);
  }

  /** The windows of the last row are open in one of two runs. */
  async #results(table: string): Promise<readonly unknown[]> {
    const rows = await world.ask(table, "SELECT start, id, total, n FROM t ORDER BY ALL");
    return rows.filter(([start]) => !this.#bids.isLast(Number(start)));
  }

  #moment(): Moment {
    const { checkpoint = 0 } = this.#checkpointRow() ?? {};
    return {
      checkpoint: Number(checkpoint),
      manifests: list(this.#directory).filter((name) => /^checkpoint-.*\.json$/.test(name)),
      rowCount: this.#count(
        "ducklake_data_file JOIN ducklake_table USING (table_id) WHERE table_name = ?",
        this.#name,
        "sum(record_count)",
      ),
      files: list(join(dataDir, "lake/main", this.#name)),
    };
  }

  #checkpointRow(): Record<string, unknown> | undefined {
    const path = join(this.#directory, "query-id");
    if (!existsSync(path)) return undefined;
    const statement = store.prepare("SELECT * FROM stream_checkpoints WHERE query_id = ?");
    return statement.get(readFileSync(path, "utf8").trim());
  }

  #count(from: string, table: string, what = "count(*)"): number {
    const found = store.prepare(`SELECT ${what} AS n FROM ${from}`).get(table);
    return Number(found?.n ?? 0);
  }
}

function list(directory: string): readonly string[] {
  return existsSync(directory) ? readdirSync(directory) : [];
}
