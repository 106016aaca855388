/** `capstan stream …` as a person starts it in a folder, for tests that send it signals. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { launcher } from "./harness.ts";

export interface StreamEnded {
  /** `null`: a signal ended it. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const running = new Set<ChildProcess>();

/** For an `after` hook: a test that failed half-way leaves nothing behind. */
export function killStreams(): void {
  for (const child of running) child.kill("SIGKILL");
}

export class StreamCommand {
  stdout = "";
  stderr = "";
  readonly #child: ChildProcess;
  readonly #closed: Promise<unknown[]>;

  constructor(folder: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
    this.#child = spawn(process.execPath, [launcher, "stream", ...args], {
      cwd: folder,
      env: { ...process.env, NO_COLOR: "1", ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    running.add(this.#child);
    this.#child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.stdout += text;
    });
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.stderr += text;
    });
    this.#closed = once(this.#child, "close");
  }

  get isOver(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Resolves when it is true, or when the process is over. */
  async until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
    while (!(await isTrue()) && !this.isOver) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  async ended(): Promise<StreamEnded> {
    const [code] = (await this.#closed) as [number | null];
    running.delete(this.#child);
    return { code, stdout: this.stdout, stderr: this.stderr };
  }
}
