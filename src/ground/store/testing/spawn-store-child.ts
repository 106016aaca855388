import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const script = fileURLToPath(import.meta.resolve("./store-child.ts"));

/** Another process on the store; see `store-child.ts`. */
export class StoreChild {
  readonly #process: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  readonly #errors: string[] = [];

  constructor(url: string, command: string, argument = "", limits = "") {
    const run = [process.execPath, script, url, command, argument];
    this.#process =
      limits === ""
        ? spawn(process.execPath, run.slice(1), { stdio: ["pipe", "pipe", "pipe"] })
        : spawn("/bin/sh", ["-c", `${limits}; exec "$@"`, "sh", ...run], {
            stdio: ["pipe", "pipe", "pipe"],
          });
    const { stdout, stderr } = this.#process;
    if (stdout === null || stderr === null) throw new Error("the child has pipes");
    this.#lines = createInterface({ input: stdout })[Symbol.asyncIterator]();
    stderr.setEncoding("utf8").on("data", (text: string) => this.#errors.push(text));
  }

  async ready(): Promise<void> {
    await this.expect("ready");
  }

  go(): void {
    this.#process.stdin?.write("go\n");
  }

  /** The next line of its output. */
  async line(): Promise<string> {
    const next = await this.#lines.next();
    if (next.done === true) throw new Error(`the child ended: ${this.#errors.join("")}`);
    return next.value;
  }

  async expect(line: string): Promise<void> {
    const found = await this.line();
    if (found !== line) throw new Error(`the child said ${found}, not ${line}`);
  }

  async kill(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const exited = once(this.#process, "exit");
    this.#process.kill("SIGKILL");
    await exited;
  }
}
