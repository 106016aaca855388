/**
 * `npm run sim -- --suite disk`: the lake's files and its catalog on a disk that fails. Production:
 * the directory store, staging, `LakeWriter`, `LakeAppender`, `LakeStore`. DuckDB is simulated by
 * something that writes files and syncs nothing.
 */

import { LakeAppender } from "../../src/data/lake/append/lake-appender.ts";
import type {
  Commit,
  Committed,
  LakeTable,
  ObjectStore,
  TableVersion,
} from "../../src/data/lake/core/index.ts";
import { type LakeDuckDb, LakeWriter } from "../../src/data/lake/duckdb/lake-writer.ts";
import { emptyStaging } from "../../src/data/lake/duckdb/staging.ts";
import { openDirectoryStore } from "../../src/data/lake/objects/directory-store.ts";
import { LakeStore } from "../../src/data/lake/store/lake-store.ts";
import { ChunkReader, parquetRuntime, readFooter } from "../../src/data/parquet/index.ts";
import { messageOf, OperatingError } from "../../src/ground/kernel/errors.ts";
import type { Files } from "../../src/ground/kernel/files.ts";
import type { Life } from "../engine/life.ts";
import type { RunResult } from "../run-plan.ts";
import { FileNode } from "./disk-image.ts";
import { type DiskRunOptions, DiskWorld } from "./disk-world.ts";

const root = "/data/lake/tables";
const stagingDir = "/data/workers/w/staging";
const tableName = "numbers";
const column = { name: "n", type: "BIGINT", nullable: true, defaultValue: undefined } as const;

/** A row that a client wants in the table. */
interface Write {
  readonly token: string;
  readonly rows: readonly number[];
  readonly how: "append" | "write";
  isAcknowledged: boolean;
}

export async function runLakeSeed(seed: number, options: DiskRunOptions = {}): Promise<RunResult> {
  const world = new DiskWorld("lake", seed, options);
  const run = new LakeRun(world);
  await run.prepare();
  return world.run(run, () => run.checkEnd());
}

interface Running {
  readonly life: Life;
  readonly appender: LakeAppender;
  readonly writer: LakeWriter;
  readonly objects: ObjectStore;
}

class LakeRun {
  readonly #world: DiskWorld;
  readonly #catalog: LakeStore;
  readonly #writes: Write[] = [];
  /** The bytes of each file when it was given to the lake, by path. */
  readonly #bytesOf = new Map<string, Buffer>();
  readonly #tokens = new Set<string>();
  /** The rows of each file, by its local path, later by its path in the lake. */
  readonly #rowsOf = new Map<string, readonly number[]>();
  #running: Running | undefined;
  #nextRow = 1;
  #acknowledgedSinceHealing = 0;

  constructor(world: DiskWorld) {
    this.#world = world;
    this.#catalog = new LakeStore({ store: world.store, prng: world.prng.fork("catalog") });
    for (const how of ["append", "write", "append"] as const) this.#clientTurn(how, undefined);
    this.#rewriteTurn();
  }

  async prepare(): Promise<void> {
    await this.#catalog.declareDataPath(root);
  }

  start(life: Life, files: Files): void {
    this.#open(life, files).then(
      () => undefined,
      (thrown: unknown) => {
        if (life.isDown) return;
        if (
          !(thrown instanceof OperatingError && thrown.retry === "backoff") &&
          !isSystem(thrown)
        ) {
          this.#world.verdict.fail("I37", `the lake does not open: ${messageOf(thrown)}`);
        }
        this.#world.counters.add("lake: could not be opened");
        this.#world.later(life, 100, () => this.#world.endProcess(life));
      },
    );
  }

  ended(): void {
    this.#running = undefined;
  }

  async checkEnd(): Promise<void> {
    await this.#check();
    this.#world.verdict.require(
      this.#acknowledgedSinceHealing > 0,
      "I38",
      () => "no row is acknowledged once the disk is well",
    );
  }

  async #open(life: Life, files: Files): Promise<void> {
    const { seams, prng } = this.#world;
    await this.#check();
    const objects = this.#noting(seams.objects(await openDirectoryStore(root, files)));
    await emptyStaging(stagingDir, files);
    const own = prng.fork(`lake-${life.number}`);
    const duckdb = new SimDuckDb(files, this.#rowsOf);
    const commit = (commit: Commit): Promise<Committed> => this.#commit(life, commit);
    this.#running = {
      life,
      objects,
      appender: new LakeAppender({
        files,
        catalog: {
          current: () => this.#catalog.current(),
          tables: (snapshot) => this.#catalog.tables(snapshot),
          commit,
        },
        objects,
        stagingDir,
        table: { name: tableName, columns: [column] },
        author: "sim",
        prng: own.fork("appender"),
        clock: life,
      }),
      writer: new LakeWriter({ files, duckdb, objects, stagingDir, prng: own.fork("writer") }),
    };
    this.#world.counters.add("lake: opened");
  }

  /** A local file has the rows of the lake's file that it becomes. */
  #noting(objects: ObjectStore): ObjectStore {
    const { image } = this.#world;
    const put: ObjectStore["put"] = (path, localFile, signal) => {
      const node = image.find(localFile);
      const rows = this.#rowsOf.get(localFile);
      if (rows !== undefined) this.#rowsOf.set(path, rows);
      if (node instanceof FileNode) this.#bytesOf.set(path, node.content);
      return objects.put(path, localFile, signal);
    };
    return new Proxy(objects, {
      get: (target, key) => {
        if (key === "put") return put;
        const value: unknown = Reflect.get(target, key);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
  }

  /** Commits at one moment, at which everything that it names must be on the disk. I36 */
  #commit(life: Life, commit: Commit): Promise<Committed> {
    const { prng, counters } = this.#world;
    return new Promise((resolve, reject) => {
      this.#world.later(life, 5, () => {
        // A repeated commit changes nothing, and its files may be gone.
        if (!this.#tokens.has(commit.token)) this.#checkSafe(commit);
        const isLost = !this.#world.isHealed && prng.next() < 0.05;
        this.#catalog.commit(commit).then((committed) => {
          counters.add("lake: committed");
          this.#tokens.add(commit.token);
          this.#world.later(life, 5, () => {
            if (isLost) reject(new OperatingError("commit_unknown", "backoff", "no answer"));
            else resolve(committed);
          });
        }, reject);
      });
    });
  }

  #checkSafe({ changes }: Commit): void {
    const { image, verdict } = this.#world;
    for (const change of changes) {
      if (change.kind !== "changeRows") continue;
      for (const { path } of change.added) {
        verdict.require(
          image.isSafe(`${root}/${path}`),
          "I36",
          () => `${path} is committed, and a power loss would take it`,
        );
      }
    }
  }

  #clientTurn(how: Write["how"], again: Write | undefined): void {
    const { timeline, prng, verdict } = this.#world;
    timeline.after(prng.next() * 500, () => {
      if (verdict.violation !== undefined) return;
      const running = this.#running;
      if (running === undefined) {
        this.#clientTurn(how, again);
        return;
      }
      const write = again ?? this.#newWrite(how);
      let isOver = false;
      const over = (isDone: boolean): void => {
        if (isOver) return;
        isOver = true;
        if (isDone) this.#acknowledge(write);
        this.#clientTurn(how, isDone || prng.next() < 0.1 ? undefined : write);
      };
      running.life.onEnd(() => over(false));
      running.life.receive(() => {
        this.#perform(running, write).then(
          () => over(true),
          (thrown: unknown) => {
            this.#world.refused("lake", thrown);
            over(false);
          },
        );
      });
    });
  }

  async #perform(running: Running, { how, rows, token }: Write): Promise<void> {
    const signal = new AbortController().signal;
    if (how === "append") {
      await running.appender.append(new Map([["n", Float64Array.from(rows)]]), token, signal);
      return;
    }
    const found = await this.#current();
    if (found === undefined) throw new OperatingError("not_found", "backoff", "no table yet");
    const { table, snapshot } = found;
    const request = { select: selectOf(rows), table, rowIds: "fresh" } as const;
    const added = await running.writer.writeRows(request, signal);
    const change = { kind: "changeRows", tableId: table.tableId, added, deletes: [], ended: [] };
    await this.#commit(running.life, {
      readSnapshot: snapshot,
      token,
      changes: [{ ...change, isCompaction: false } as Commit["changes"][number]],
      author: "sim",
      message: "write",
    });
  }

  /** Replaces all files by one, and then deletes them. */
  #rewriteTurn(): void {
    const { timeline, prng, verdict } = this.#world;
    timeline.after(300 + prng.next() * 600, () => {
      if (verdict.violation !== undefined) return;
      const running = this.#running;
      running?.life.receive(() => {
        this.#rewrite(running).catch((thrown: unknown) => this.#world.refused("lake", thrown));
      });
      this.#rewriteTurn();
    });
  }

  async #rewrite({ life, writer, objects }: Running): Promise<void> {
    const found = await this.#current();
    if (found === undefined || found.version.files.length < 3) return;
    const { table, snapshot, version } = found;
    const rows = version.files.flatMap(({ path }) => this.#rowsIn(path));
    const request = { select: selectOf(rows), table, rowIds: "fresh" } as const;
    const added = await writer.writeRows(request, new AbortController().signal);
    const ended = version.files.map(({ fileId }) => fileId);
    const change = { kind: "changeRows", tableId: table.tableId, added, deletes: [], ended };
    await this.#commit(life, {
      readSnapshot: snapshot,
      token: `rewrite-${life.number}-${this.#nextRow++}`,
      changes: [{ ...change, isCompaction: false } as Commit["changes"][number]],
      author: "sim",
      message: "rewrite",
    });
    this.#world.counters.add("lake: rewritten");
    await objects.delete(version.files.map(({ path }) => path));
  }

  async #current(): Promise<
    { table: LakeTable; snapshot: Commit["readSnapshot"]; version: TableVersion } | undefined
  > {
    const { snapshot } = await this.#catalog.current();
    const table = (await this.#catalog.tables(snapshot)).find(({ name }) => name === tableName);
    if (table === undefined) return undefined;
    return { table, snapshot, version: await this.#catalog.version(table.tableId, snapshot) };
  }

  #newWrite(how: Write["how"]): Write {
    const { prng } = this.#world;
    const rows = Array.from({ length: 1 + prng.below(20) }, () => this.#nextRow++);
    const write = { token: `t-${this.#writes.length}`, rows, how, isAcknowledged: false };
    this.#writes.push(write);
    return write;
  }

  #acknowledge(write: Write): void {
    write.isAcknowledged = true;
    if (this.#world.isHealed) this.#acknowledgedSinceHealing += 1;
    this.#world.counters.add(`lake: acknowledged, ${write.how}`);
    this.#world.trace.note("acknowledged", write.token, write.rows.length);
  }

  #rowsIn(path: string): readonly number[] {
    const rows = this.#rowsOf.get(path);
    if (rows !== undefined) return rows;
    return rowsOfFile(this.#bytesOf.get(path) ?? Buffer.alloc(0));
  }

  /**
   * I34, I35, I36: the files that the catalog names are as they were committed, and have every
   * acknowledged row once.
   */
  async #check(): Promise<void> {
    const { verdict, image } = this.#world;
    const found = await this.#current();
    const seen = new Set<number>();
    for (const { path } of found?.version.files ?? []) {
      const node = image.find(`${root}/${path}`);
      const bytes = this.#bytesOf.get(path);
      if (!(node instanceof FileNode) || bytes === undefined || !node.content.equals(bytes)) {
        verdict.fail("I36", `${path} is in the catalog, and not on the disk as it was written`);
        return;
      }
      for (const row of this.#rowsIn(path)) {
        verdict.require(!seen.has(row), "I35", () => `row ${row} is there twice`);
        seen.add(row);
      }
    }
    for (const { rows, isAcknowledged } of this.#writes) {
      const there = rows.filter((row) => seen.delete(row)).length;
      if (isAcknowledged && there < rows.length) {
        verdict.fail("I34", `row ${rows[0]} was acknowledged, and is not in the table`);
      }
      if (there > 0 && there < rows.length) verdict.fail("I35", "a write is there in part");
    }
    verdict.require(seen.size === 0, "I35", () => "there are rows that nobody sent");
  }
}

/** Rows of a file that the appender encoded. */
function rowsOfFile(bytes: Buffer): readonly number[] {
  const footer = readFooter(bytes);
  return footer.rowGroups.flatMap(({ chunks }, group) => {
    const { offset = 0, length = 0 } = chunks[0] ?? {};
    const chunk = bytes.subarray(offset, offset + length);
    return Array.from(new ChunkReader(footer, group, 0, chunk, parquetRuntime).float64());
  });
}

function isSystem(thrown: unknown): boolean {
  return thrown instanceof Error && "syscall" in thrown;
}

function selectOf(rows: readonly number[]): string {
  return `SELECT unnest([${rows.join(",")}])`;
}

/** DuckDB's COPY: writes a file in pieces and does not sync it. */
class SimDuckDb implements LakeDuckDb {
  readonly #files: Files;
  readonly #rowsOf: Map<string, readonly number[]>;

  constructor(files: Files, rowsOf: Map<string, readonly number[]>) {
    this.#files = files;
    this.#rowsOf = rowsOf;
  }

  async run(sql: string): Promise<readonly (readonly unknown[])[]> {
    const path = /\nTO '([^']+)'/.exec(sql)?.[1];
    const list = /unnest\(\[([0-9,]*)\]\)/.exec(sql)?.[1];
    if (path === undefined || list === undefined) throw new Error(`not simulated: ${sql}`);
    const rows = list.split(",").map(Number);
    this.#rowsOf.set(path, rows);
    const bytes = Buffer.from(JSON.stringify(rows));
    const half = bytes.length >> 1;
    try {
      const file = await this.#files.open(path, "new");
      await file.write(bytes.subarray(0, half), 0);
      await file.write(bytes.subarray(half), half);
      await file.close();
    } catch (thrown) {
      throw new OperatingError("disk_full", "backoff", messageOf(thrown));
    }
    const numbers = { num_values: rows.length, null_count: 0, column_size_bytes: bytes.length };
    const statistics = Object.entries(numbers).map(([key, value]) => ({ key, value }));
    return [[path, rows.length, bytes.length, 8, [{ key: '"n"', value: statistics }]]];
  }
}
