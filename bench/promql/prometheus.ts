/**
 * A real Prometheus to compare with: its binaries are those of the PATH, or $PROMETHEUS_BIN and
 * $PROMTOOL_BIN.
 */
import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { waitFor } from "../../test/e2e/harness.ts";

export interface PrometheusBinaries {
  readonly prometheus: string;
  readonly promtool: string;
  readonly version: string;
}

/** Undefined when this machine has no Prometheus. */
export function findPrometheus(): PrometheusBinaries | undefined {
  const { PROMETHEUS_BIN: prometheus = "prometheus", PROMTOOL_BIN: promtool = "promtool" } =
    process.env;
  const answers = [prometheus, promtool].map((binary) =>
    spawnSync(binary, ["--version"], { encoding: "utf8" }),
  );
  if (answers.some(({ status }) => status !== 0)) return undefined;
  const { stdout, stderr } = answers[0] as { stdout: string; stderr: string };
  const version = /version (\S+)/.exec(`${stdout}${stderr}`)?.[1] ?? "of unknown version";
  return { prometheus, promtool, version };
}

/** Writes blocks of the file's samples; what a Prometheus starts with. */
export async function createBlocks(
  { promtool }: PrometheusBinaries,
  file: string,
  dataDir: string,
): Promise<void> {
  const child = spawn(promtool, ["tsdb", "create-blocks-from", "openmetrics", file, dataDir], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr = `${stderr}${text}`.slice(-10_000);
  });
  const [code] = (await once(child, "close")) as [number | null];
  assert.equal(code, 0, `promtool failed: ${stderr}`);
}

export class PrometheusServer {
  readonly url: string;
  readonly #process: ChildProcess;

  constructor(process: ChildProcess, url: string) {
    this.#process = process;
    this.url = url;
  }

  get pid(): number {
    assert(this.#process.pid !== undefined);
    return this.#process.pid;
  }

  async stop(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    this.#process.kill("SIGTERM");
    await once(this.#process, "exit");
  }
}

export async function startPrometheus(
  { prometheus }: PrometheusBinaries,
  dataDir: string,
  args: readonly string[] = [],
): Promise<PrometheusServer> {
  const config = join(dataDir, "..", "prometheus.yml");
  writeFileSync(config, "{}\n");
  const port = await freePort();
  const child = spawn(
    prometheus,
    [
      `--config.file=${config}`,
      `--storage.tsdb.path=${dataDir}`,
      "--storage.tsdb.retention.time=10y",
      `--web.listen-address=127.0.0.1:${port}`,
      "--log.level=warn",
      ...args,
    ],
    { stdio: ["ignore", "ignore", "pipe"] },
  );
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr = `${stderr}${text}`.slice(-10_000);
  });
  const server = new PrometheusServer(child, `http://127.0.0.1:${port}`);
  const ready = async (): Promise<true | undefined> => {
    assert.equal(child.exitCode, null, `prometheus ended: ${stderr}`);
    const answer = await fetch(`${server.url}/-/ready`).catch(() => undefined);
    return answer?.status === 200 ? true : undefined;
  };
  await waitFor("prometheus to be ready", ready, 60_000, () => stderr);
  return server;
}

/** A port that was free a moment ago; nothing else on this machine takes ports by number. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  assert(address !== null && typeof address === "object");
  server.close();
  await once(server, "close");
  return address.port;
}
