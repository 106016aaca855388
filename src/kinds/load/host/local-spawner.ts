/** Starts load workers as processes on this machine, from the same program. Rules: WP1 to WP5. */

import {
  accessSync,
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  openSync,
  readFileSync,
  statSync,
  truncateSync,
} from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import type { Clock, Timer } from "../../../ground/kernel/clock.ts";
import { messageOf, OperatingError } from "../../../ground/kernel/errors.ts";
import type { Logger } from "../../../ground/kernel/logger.ts";
import { makeInnerDirectory } from "../../../ground/kernel/node/make-inner-directory.ts";
import { decideLoadWorkerBytes, machine, packageInfo } from "../../../ground/process/index.ts";
import { boundedCommand, canBoundMemory, OwnProcess } from "../../../ground/threads/index.ts";
import type { RunId } from "../core/ids.ts";
import {
  fieldsOf,
  keyOf,
  type OwnSpawner,
  type SeenProcess,
  type SpawnRequest,
  type WorkerPlace,
} from "./worker-spawner.ts";

export interface LocalSpawnerOptions {
  /** The program and its arguments before `load-worker`; this program by default. */
  readonly command?: readonly [program: string, ...args: string[]];
  /** In the syntax of `parseStoreUrl`. */
  readonly storeUrl: string;
  readonly dataDir: string;
  /** The allowed files of FT1. */
  readonly allowedFiles?: readonly string[] | undefined;
  /** Memory limit of each load worker in bytes; by default a share of the machine's memory. */
  readonly loadMemoryLimit?: number | undefined;
  /** The lake option of this process's command line. */
  readonly lake?: string | undefined;
  /** Used when the request has none. */
  readonly coordinatorUrl?: string;
  readonly clusterToken: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Known {
  readonly runId: RunId;
  readonly processId: number;
  /** Undefined when it is not our child. */
  readonly child: OwnProcess | undefined;
  readonly logPath: string | undefined;
}

const lookAtLogsMs = 10_000;
const logBytesMax = 4 * 1024 * 1024;
/** Threads of Node, libuv and DuckDB, and one for each SQLite connection. */
const threadsAbout = 48;
/** Script memory of its three threads (store, timer, records) and of 16 SQLite connections. */
const scriptBytes = (3 * 64 + 16 * 32) * 1024 ** 2;

export class LocalSpawner implements OwnSpawner {
  readonly #options: LocalSpawnerOptions;
  readonly #known = new Map<string, Known>();
  #timer: Timer | undefined;

  constructor(options: LocalSpawnerOptions) {
    this.#options = options;
  }

  async spawn(request: SpawnRequest): Promise<void> {
    const { dataDir, logger, loadMemoryLimit } = this.#options;
    const [program, ...before] = this.#options.command ?? ownCommand();
    const memoryBytesMax =
      loadMemoryLimit ?? decideLoadWorkerBytes(machine().totalBytes, request.groupCount);
    const line = [program, ...before, ...this.#argsOf(request, memoryBytesMax)] as const;
    const bound = { memoryBytesMax, threadCount: threadsAbout, scriptBytes };
    const { logPath, log } = openLog(dataDir, request);
    const child = new OwnProcess(canBoundMemory ? boundedCommand(line, bound) : line, {
      detached: true, // WP1
      output: log,
      env: this.#env(),
    });
    closeSync(log);
    try {
      await child.started;
      // Checked here because the shell that sets the limits always starts.
      if (program.includes("/")) accessSync(program, constants.X_OK);
    } catch (thrown) {
      const message = `cannot start ${request.workerId}: ${messageOf(thrown)}`;
      throw new OperatingError("worker_unreachable", "backoff", message);
    }
    const { pid: processId = 0 } = child;
    this.#known.set(keyOf(request), { runId: request.runId, processId, child, logPath });
    const fields = fieldsOf(request);
    void child.ended.then(({ how }) => logger.info(fields, `it ended: ${how}`));
    logger.info({ ...fields, process_id: processId }, "started a load worker");
    this.#lookAtLogs();
  }

  isAlive(place: WorkerPlace): boolean | undefined {
    const known = this.#known.get(keyOf(place));
    if (known === undefined) return undefined;
    return known.child === undefined ? isRunning(known) : known.child.pid !== undefined;
  }

  see({ hostName, processId, ...place }: SeenProcess): void {
    const { runId } = place;
    if (processId <= 0) return;
    const key = keyOf(place);
    if (hostName !== hostname()) {
      // A process that we started under this name is no longer the worker (SP2).
      this.#known.delete(key);
      return;
    }
    if (this.#known.get(key)?.processId === processId) return;
    // Another process has registered under this name since we started ours: it is the newer one.
    this.#known.set(key, { runId, processId, child: undefined, logPath: undefined });
  }

  signal(place: WorkerPlace, signal: "SIGTERM" | "SIGKILL"): void {
    const known = this.#known.get(keyOf(place));
    if (known === undefined || this.isAlive(place) !== true) return;
    try {
      process.kill(known.processId, signal);
    } catch (thrown) {
      this.#options.logger.debug({ run_id: place.runId }, `no ${signal}: ${messageOf(thrown)}`);
    }
  }

  forget(runId: RunId): void {
    for (const [key, known] of this.#known) if (known.runId === runId) this.#known.delete(key);
  }

  close(): void {
    this.#timer?.cancel();
  }

  #env(): Record<string, string | undefined> {
    const { clusterToken, storeUrl, lake } = this.#options;
    return {
      ...process.env,
      ...(lake === undefined ? {} : { CAPSTAN_LAKE: lake }),
      CAPSTAN_CLUSTER_TOKEN: clusterToken,
      CAPSTAN_STORE: storeUrl,
    };
  }

  #argsOf(
    { runId, workerId, groupId, groupCount, ...request }: SpawnRequest,
    memoryBytes: number,
  ): readonly string[] {
    const { storeUrl, dataDir } = this.#options;
    const coordinatorUrl = request.coordinatorUrl ?? this.#options.coordinatorUrl;
    const isFile = !storeUrl.includes("://");
    return [
      "load-worker",
      ...["--run-id", runId, "--worker-id", workerId],
      ...["--worker-group-id", `${groupId}`, "--worker-group-count", `${groupCount}`],
      ...(isFile ? ["--store", storeUrl] : []), // WP2
      ...["--data-dir", dataDir, "--load-memory-limit", `${memoryBytes}`],
      ...(this.#options.allowedFiles ?? []).flatMap((path) => ["--allow-target-file", path]),
      ...(coordinatorUrl === undefined ? [] : ["--coordinator-url", coordinatorUrl]),
    ];
  }

  /**
   * Bounds the logs (WP3). The worker appends, so that it continues at the start of a truncated
   * file.
   */
  #lookAtLogs(): void {
    this.#timer?.cancel();
    for (const { logPath } of this.#known.values()) {
      if (logPath !== undefined) boundLog(logPath, logBytesMax);
    }
    if (this.#known.size === 0) return;
    this.#timer = this.#options.clock.after(lookAtLogsMs, () => this.#lookAtLogs());
  }
}

export function loadLogPath(dataDir: string, { runId, workerId }: WorkerPlace): string {
  return join(dataDir, "load", `${runId}.${workerId}.log`);
}

function openLog(dataDir: string, place: WorkerPlace): { logPath: string; log: number } {
  const logPath = loadLogPath(dataDir, place);
  makeInnerDirectory(join(dataDir, "load"));
  return { logPath, log: openSync(logPath, "a", 0o600) };
}

/** A log that cannot be truncated must not end the worker. */
export function boundLog(path: string, bytesMax: number): void {
  try {
    if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) <= bytesMax) return;
    copyFileSync(path, `${path}.1`);
    truncateSync(path, 0);
  } catch {
    // The disk is full, or the file is gone.
  }
}

/** WP4 */
function isRunning({ processId, runId }: Known): boolean {
  try {
    process.kill(processId, 0);
  } catch {
    return false; // The process is gone, or belongs to another user.
  }
  if (!existsSync("/proc/self/cmdline")) return true;
  try {
    return readFileSync(`/proc/${processId}/cmdline`, "utf8").includes(runId);
  } catch {
    return false;
  }
}

function ownCommand(): readonly [string, string] {
  return [process.execPath, join(packageInfo().root, "bin", "capstan.js")];
}
