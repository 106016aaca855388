/**
 * The directory that holds what one machine's Capstan keeps: `.capstan/` unless told otherwise.
 *
 *   LAYOUT            the number of this layout, so that an older program refuses a newer directory
 *   store.sqlite      the control store, unless it is on Postgres
 *   cluster-token     what workers and coordinators show each other; readable by its owner only
 *   up.lock, up.json  held and written by `capstan up`
 *   workers/NAME/     a worker's lock, its spool (one directory for each incarnation), and its
 *                     copies of a remote lake
 *   controllers/NAME/ the same for a coordinator or a query-api
 *   lake/             metrics (segments, and the log of what is not in one yet), and the tables'
 *                     files
 *   targets/          databases that load tests may open; nothing of Capstan's own
 *   logs/             what the children of `capstan up` logged, as JSON lines
 */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import { type Clock, sleep } from "../kernel/clock.ts";
import { messageOf, OperatingError } from "../kernel/errors.ts";
import { randomSecret } from "../kernel/node/system-random.ts";
import { type FileLock, tryLockFile } from "./file-lock.ts";

const layoutVersion = 1;

export interface DataDir {
  readonly path: string;
  readonly storePath: string;
  readonly logsDir: string;
  /** Where metrics and tables are by default. Every process of the cluster sees the same files. */
  readonly lakeDir: string;
  /** The directory of that worker or controller; created when absent. */
  ownDir(kind: "workers" | "controllers", name: string): string;
  /** The cluster's token; created when absent. */
  clusterToken(): string;
}

/** Creates the directory when absent. Refuses a layout of a newer Capstan. */
export function openDataDir(text: string): DataDir {
  const path = resolve(text);
  return usable(path, () => {
    makeDir(path);
    keepToOwner(path);
    checkLayout(path);
    return {
      path,
      storePath: join(path, "store.sqlite"),
      logsDir: makeDir(join(path, "logs")),
      lakeDir: join(path, "lake"),
      ownDir: (kind, name) => usable(path, () => makeDir(join(path, kind, name))),
      clusterToken: () => usable(path, () => readOrMakeToken(join(path, "cluster-token"))),
    };
  });
}

function usable<T>(path: string, use: () => T): T {
  try {
    return use();
  } catch (thrown) {
    if (thrown instanceof OperatingError) throw thrown;
    throw new OperatingError(
      "data_dir_unusable",
      "never",
      `cannot use ${path} as a data directory: ${messageOf(thrown)}`,
      { cause: thrown, hint: "Choose another with --data-dir." },
    );
  }
}

/**
 * Locks `dir` for this process. Waits at most `waitMsMax` for a holder that is just ending, for
 * example because its supervisor was killed a moment ago.
 */
export async function lockDir(
  dir: string,
  name: string,
  clock: Clock,
  waitMsMax: number,
): Promise<FileLock> {
  const deadlineMs = clock.nowMs() + waitMsMax;
  for (;;) {
    const lock = tryLockFile(join(dir, name));
    if (lock !== undefined) return lock;
    if (clock.nowMs() >= deadlineMs) break;
    await sleep(clock, 100);
  }
  throw new OperatingError("data_dir_in_use", "never", `another process is using ${dir}`, {
    hint: "Stop it first, or choose another directory with --data-dir.",
  });
}

const secretFiles = ["cluster-token", "store.sqlite", "store.sqlite-wal", "store.sqlite-shm"];

/**
 * Closes an empty directory to everyone but its owner. A directory with other files may be shared
 * on purpose (`--data-dir .`), so there only the secret files are closed to others.
 */
function keepToOwner(path: string): void {
  if (readdirSync(path).length === 0) narrow(path, 0o700);
  else for (const name of secretFiles) narrow(join(path, name), 0o600);
}

function narrow(path: string, mode: number): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined || found.uid !== process.getuid?.()) return;
  if ((found.mode & 0o777 & ~mode) !== 0) chmodSync(path, mode);
}

function checkLayout(path: string): void {
  const file = join(path, "LAYOUT");
  const found = readIfThere(file)?.trim() ?? "";
  // A full disk or a power cut during the first start leaves an empty file.
  if (found === "") {
    writeLayout(file);
    return;
  }
  if (Number(found) === layoutVersion) return;
  const ifOurs = `If this Capstan wrote the directory, the file LAYOUT in it must hold ${layoutVersion}.`;
  if (!/^\d+$/.test(found) || Number(found) < layoutVersion) {
    const message = `the file LAYOUT of ${path} is damaged: it holds ${JSON.stringify(found)}`;
    throw new OperatingError("data_corrupt", "never", message, { hint: ifOurs });
  }
  throw new OperatingError(
    "schema_newer",
    "never",
    `${path} has data layout ${JSON.stringify(found)}, and this Capstan knows ${layoutVersion}`,
    {
      hint: `Use the Capstan that wrote it, or another directory with --data-dir. ${ifOurs}`,
    },
  );
}

/** Renamed into place, so that it is complete or absent. Concurrent starts write the same. */
function writeLayout(file: string): void {
  const fresh = `${file}.${process.pid}.new`;
  try {
    writeFileSync(fresh, `${layoutVersion}\n`);
    renameSync(fresh, file);
  } catch (thrown) {
    rmSync(fresh, { force: true });
    throw thrown;
  }
}

function readOrMakeToken(file: string): string {
  const found = readIfThere(file)?.trim();
  if (found !== undefined && found !== "") return found;
  const token = randomSecret();
  try {
    // Exclusive: when two processes start at once, one writes and the other reads.
    writeFileSync(file, `${token}\n`, { mode: 0o600, flag: found === "" ? "w" : "wx" });
    chmodSync(file, 0o600);
    return token;
  } catch (thrown) {
    const other = readIfThere(file)?.trim();
    if (other !== undefined && other !== "") return other;
    throw new OperatingError("data_dir_unusable", "never", `cannot write ${file}`, {
      cause: thrown,
    });
  }
}

/** Level by level: recursive `mkdirSync` never returns where it cannot make one, as in /proc. */
function makeDir(path: string): string {
  if (!existsSync(path)) {
    makeDir(dirname(path));
    try {
      mkdirSync(path, { mode: 0o700 });
    } catch (thrown) {
      if (!existsSync(path)) throw thrown; // Another process made it at the same time.
    }
  }
  return path;
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (thrown) {
    if (thrown instanceof Error && "code" in thrown && thrown.code === "ENOENT") return undefined;
    throw thrown;
  }
}
