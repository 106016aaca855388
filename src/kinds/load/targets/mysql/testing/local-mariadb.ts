/**
 * A real MariaDB or MySQL for tests, if the machine has one on its PATH: in a temporary directory,
 * on a free port of 127.0.0.1. A shell stands between us and the server and watches a pipe: when
 * our process ends, in whatever way, it kills the server.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { accessSync, chownSync, constants, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";

export interface LocalMariadb {
  readonly port: number;
  readonly socketPath: string;
  stop(): Promise<void>;
}

const nobody = 65_534;

export function findServer(): string | undefined {
  return findProgram("mariadbd") ?? findProgram("mysqld");
}

function findProgram(name: string): string | undefined {
  return [...(process.env.PATH ?? "").split(delimiter), "/usr/sbin"]
    .map((dir) => join(dir, name))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}

const supervise = `
  "$@" &
  child=$!
  trap '' INT TERM
  cat > /dev/null
  kill -KILL $child 2> /dev/null
  wait $child
  rm -rf "$CAPSTAN_MARIADB_HOME"`;

export async function startLocalMariadb(server: string): Promise<LocalMariadb> {
  const home = mkdtempSync(join(tmpdir(), "capstan-mariadb-"));
  const user = process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {};
  if ("uid" in user) chownSync(home, nobody, nobody);
  const data = join(home, "data");
  const options = { ...user, cwd: home, encoding: "utf8" } as const;
  const made = server.endsWith("mariadbd")
    ? spawnSync(
        findProgram("mariadb-install-db") ?? "",
        [
          "--no-defaults",
          `--datadir=${data}`,
          "--auth-root-authentication-method=normal",
          "--skip-test-db",
        ],
        options,
      )
    : spawnSync(server, ["--no-defaults", "--initialize-insecure", `--datadir=${data}`], options);
  if (made.status !== 0) throw new Error(`no database was made: ${made.stdout}${made.stderr}`);
  const port = await freePort();
  const socketPath = join(home, "s");
  const child = spawn(
    "/bin/sh",
    [
      "-c",
      supervise,
      "sh",
      server,
      "--no-defaults",
      `--datadir=${data}`,
      `--port=${port}`,
      `--socket=${socketPath}`,
      "--bind-address=127.0.0.1",
      "--performance-schema=ON",
      "--innodb-flush-log-at-trx-commit=0",
      "--innodb-buffer-pool-size=16M",
    ],
    {
      ...user,
      cwd: home,
      env: { ...process.env, CAPSTAN_MARIADB_HOME: home },
      stdio: ["pipe", "ignore", "pipe"],
    },
  );
  await ready(child);
  return {
    port,
    socketPath,
    stop: async () => {
      const exited = child.exitCode === null ? once(child, "exit") : undefined;
      child.stdin?.end();
      await exited;
      rmSync(home, { recursive: true, force: true });
    },
  };
}

function ready(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let said = "";
    child.once("error", reject);
    child.once("exit", () => reject(new Error(`the server did not start: ${said}`)));
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      if (said.length < 100_000) said += text;
      if (said.includes("ready for connections")) resolve();
    });
  });
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}
