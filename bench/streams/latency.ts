/**
 * How long a row takes from being read to its result being written, at 50,000 events a second from
 * a TCP source to a TCP sink, in a process of its own. Each row has the moment at which it was
 * sent; the one who sends also receives the results. Beside it stands by how much the sender itself
 * was late, which is what the machine does to a loop of that pace.
 */
import { spawn } from "node:child_process";
import { createServer, type Server, type Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { percentile, type Report } from "../report.ts";

const eventsPerSecond = 50_000;
const paceMs = 5;
const seconds = 15;
/** Code that has hardly run is not what a query that runs for days is about. */
const warmUpMs = 5_000;
const windowMs = 100;
const rowMsGoal = 50;
const windowMsGoal = 100;

const shapes = {
  row: { select: "SELECT id, at FROM made", goal: rowMsGoal },
  window: {
    select: `SELECT n, end FROM (SELECT COUNT(*) AS n, end FROM made WINDOW TUMBLING(at, SIZE ${windowMs} MS))`,
    goal: windowMsGoal,
  },
} as const;

export async function benchLatency(report: Report): Promise<void> {
  for (const [name, { select, goal }] of Object.entries(shapes)) {
    const { latencies, paceLateMs } = await measure(select);
    const sorted = latencies.sort((a, b) => a - b);
    const late = paceLateMs.sort((a, b) => a - b);
    report.figure(
      `latency_${name}`,
      { p99_ms: { value: percentile(sorted, 0.99), atMost: goal } },
      {
        events_per_s: eventsPerSecond,
        results: sorted.length,
        p50_ms: percentile(sorted, 0.5),
        worst_ms: sorted.at(-1),
        sender_late_p50_ms: percentile(late, 0.5),
        sender_late_p99_ms: percentile(late, 0.99),
      },
    );
  }
}

interface Measured {
  readonly latencies: number[];
  readonly paceLateMs: number[];
}

/** The last column of a result is the moment it counts from. */
async function measure(select: string): Promise<Measured> {
  const [input, output] = [createServer(), createServer()];
  const ports = await Promise.all([listen(input), listen(output)]);
  const module = fileURLToPath(new URL("./latency-process.ts", import.meta.url));
  const child = spawn(process.execPath, [module, ...ports.map(String), select], {
    stdio: "inherit",
  });
  const ended = new Promise<void>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (status) => {
      if (status === 0) resolve();
      else reject(new Error(`the process of the query ended with status ${status}`));
    });
  });
  const startedMs = Date.now();
  const measured: Measured = { latencies: [], paceLateMs: [] };
  output.once("connection", (socket) => receive(socket, startedMs, measured.latencies));
  input.once("connection", (socket) => send(socket, startedMs, measured.paceLateMs));
  await ended;
  input.close();
  output.close();
  return measured;
}

function send(socket: Socket, startedMs: number, late: number[]): void {
  socket.on("error", () => undefined);
  let sent = 0;
  const firstMs = Date.now();
  const timer = setInterval(() => {
    const now = Date.now();
    const due = Math.min(seconds * 1_000, now - firstMs) * (eventsPerSecond / 1_000);
    const behindMs = ((due - sent) * 1_000) / eventsPerSecond;
    if (now - startedMs > warmUpMs) late.push(Math.max(0, behindMs - paceMs));
    let text = "";
    for (; sent < due; sent += 1) text += `${sent},${now}\n`;
    socket.write(text);
    if (sent < seconds * eventsPerSecond) return;
    clearInterval(timer);
    socket.end();
  }, paceMs);
}

function receive(socket: Socket, startedMs: number, latencies: number[]): void {
  let rest = "";
  socket.setEncoding("utf8");
  socket.on("data", (text: string) => {
    const now = Date.now();
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    if (now - startedMs < warmUpMs) return;
    for (const line of lines) latencies.push(now - Number(line.slice(line.lastIndexOf(",") + 1)));
  });
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      resolve(typeof address === "object" && address !== null ? address.port : 0);
    });
  });
}
