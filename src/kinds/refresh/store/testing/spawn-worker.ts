import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";

const script = fileURLToPath(import.meta.resolve("./claim-child.ts"));

export interface WorkerChild {
  expect(line: string): Promise<void>;
  /** Waits for this line and returns the lines before it. */
  until(line: string): Promise<string[]>;
  go(): void;
}

/** A worker process (`claim-child.ts`) that ends with the test. */
export function spawnWorker(t: TestContext, url: string, workerId: string): WorkerChild {
  const child = spawn(process.execPath, [script, url, workerId], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  t.after(() => end(child));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async (): Promise<string> => {
    const line = await lines.next();
    if (line.done === true) throw new Error(`${workerId} ended`);
    return line.value;
  };
  return {
    expect: async (line) => {
      const said = await next();
      if (said !== line) throw new Error(`${workerId} said ${said}, not ${line}`);
    },
    until: async (line) => {
      const said: string[] = [];
      for (let word = await next(); word !== line; word = await next()) said.push(word);
      return said;
    },
    go: () => {
      child.stdin.write("go\n");
    },
  };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await exited;
}
