/**
 * Load workers as processes of this machine.
 *
 *   WP1  A worker is in a session of its own, with its output in a file: it goes on when the
 *        coordinator is killed, and a signal to the coordinator's terminal is not one to it.
 *   WP2  No secret is on its command line, where everybody can read it: tokens, and the address of
 *        a store that has a password, travel in the environment.
 *   WP3  A worker's log keeps to about two files of `logBytesMax`.
 *   WP4  A process that only a heartbeat told of is signalled only while its command line names its run: process ids come again.
 *   WP5  On Linux the kernel bounds what a worker may allocate: a database that runs in it, or a bug, does not take the machine's memory.
 */
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
import { boundedCommand, canBoundMemory, OwnProcess } from "../../../ground/threads/index.ts";
import type { SeenProcess, SpawnRequest, WorkerPlace, WorkerSpawner } from "./worker-spawner.ts";

export interface LocalSpawnerOptions {
  /** The program and what comes before `load-worker`: Node, and `bin/capstan.js`. */
  readonly command: readonly [program: string, ...args: string[]];
  /** As `parseStoreUrl` understands it. */
  readonly storeUrl: string;
  readonly dataDir: string;
  /** As FT1 has them. */
  readonly allowedFiles?: readonly string[];
  /** What each may take, of so many of a run. */
  readonly memoryBytesOf: (workers: number) => number;
  /** Unless the request has it. */
  readonly coordinatorUrl?: string;
  readonly clusterToken: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly logBytesMax?: number;
  /** What the coordinator was told on its command line and workers need, such as CAPSTAN_LAKE. */
  readonly env?: Readonly<Record<string, string>>;
}

interface Known {
  readonly runId: string;
  readonly processId: number;
  /** `undefined`: not our child; `null`: it runs. */
  exit: string | null | undefined;
  readonly logPath: string | undefined;
}

const lookAtLogsMs = 10_000;
/** Node's, libuv's, DuckDB's, and one for each connection to SQLite. */
const threadsAbout = 48;
/** Of its three threads (store, timer, records), and of 16 connections to SQLite. */
const scriptBytes = (3 * 64 + 16 * 32) * 1024 ** 2;

export class LocalSpawner implements WorkerSpawner {
  readonly #options: LocalSpawnerOptions;
  readonly #known = new Map<string, Known>();
  #timer: Timer | undefined;

  constructor(options: LocalSpawnerOptions) {
    this.#options = options;
  }

  async spawn(request: SpawnRequest): Promise<void> {
    const { command, dataDir, clusterToken, logger } = this.#options;
    const [program, ...before] = command;
    const { logPath, log } = openLog(dataDir, request);
    const memoryBytesMax = this.#options.memoryBytesOf(request.groupCount);
    const line = [program, ...before, ...this.#argsOf(request, memoryBytesMax)] as const;
    const child = new OwnProcess(
      canBoundMemory
        ? boundedCommand(line, { memoryBytesMax, threadCount: threadsAbout, scriptBytes })
        : line,
      {
        detached: true, // WP1
        output: log,
        env: {
          ...process.env,
          ...this.#options.env,
          CAPSTAN_CLUSTER_TOKEN: clusterToken,
          CAPSTAN_STORE: this.#options.storeUrl,
        },
      },
    );
    closeSync(log);
    try {
      await child.started;
      if (program.includes("/")) accessSync(program, constants.X_OK); // The shell that sets its bounds starts in any case.
    } catch (thrown) {
      throw new OperatingError(
        "worker_unreachable",
        "backoff",
        `cannot start ${request.workerId}: ${messageOf(thrown)}`,
      );
    }
    const known: Known = { runId: request.runId, processId: child.pid ?? 0, exit: null, logPath };
    this.#known.set(keyOf(request), known);
    void child.ended.then(({ how }) => {
      known.exit = how;
      logger.info({ run_id: request.runId, worker_id: request.workerId }, `it ended: ${how}`);
    });
    logger.info(
      { run_id: request.runId, worker_id: request.workerId, process_id: known.processId },
      "started a load worker",
    );
    this.#lookAtLogs();
  }

  isAlive(place: WorkerPlace): boolean | undefined {
    const known = this.#known.get(keyOf(place));
    if (known === undefined) return undefined;
    if (known.exit !== undefined) return known.exit === null;
    return isRunning(known);
  }

  see({ hostName, processId, ...place }: SeenProcess): void {
    const { runId } = place;
    if (processId <= 0) return;
    const key = keyOf(place);
    if (hostName !== hostname()) {
      this.#known.delete(key); // SP2: one that we started under this name is not the worker any more.
      return;
    }
    if (this.#known.get(key)?.processId === processId) return;
    // A process that we started under this name and another is there now: the newer registered.
    this.#known.set(key, { runId, processId, exit: undefined, logPath: undefined });
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

  forget(runId: string): void {
    for (const [key, known] of this.#known) if (known.runId === runId) this.#known.delete(key);
  }

  /** Leaves the workers alone. */
  close(): void {
    this.#timer?.cancel();
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
   * WP3. The file stays the worker's: it appends, so that a file cut short goes on at its
   * beginning.
   */
  #lookAtLogs(): void {
    this.#timer?.cancel();
    const { clock, logBytesMax = 4 * 1024 * 1024 } = this.#options;
    for (const { logPath } of this.#known.values()) {
      if (logPath !== undefined) boundLog(logPath, logBytesMax);
    }
    if (this.#known.size === 0) return;
    this.#timer = clock.after(lookAtLogsMs, () => this.#lookAtLogs());
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

/** A log that cannot be kept short must not end what it is about. */
export function boundLog(path: string, bytesMax: number): void {
  try {
    if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) <= bytesMax) return;
    copyFileSync(path, `${path}.1`);
    truncateSync(path, 0);
  } catch {
    // The disk is full, or somebody took the file away.
  }
}

/** WP4 */
function isRunning({ processId, runId }: Known): boolean {
  try {
    process.kill(processId, 0);
  } catch {
    return false; // Gone, or somebody else's.
  }
  if (!existsSync("/proc/self/cmdline")) return true;
  try {
    return readFileSync(`/proc/${processId}/cmdline`, "utf8").includes(runId);
  } catch {
    return false;
  }
}

function keyOf({ runId, workerId }: WorkerPlace): string {
  return `${runId}/${workerId}`;
}
