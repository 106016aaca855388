/**
 * Flink in a process of its own, for the same queries over the same files. The user installs it in
 * a directory of jars that `CAPSTAN_FLINK` names, and a JDK: `java` from the PATH, or `JAVA_BIN`.
 */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { createInterface, type Interface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import type { Spent } from "../../tables/lake-world.ts";
import type { NexmarkFiles } from "../nexmark-events.ts";
import type { NexmarkQuery } from "../nexmark-queries.ts";
import { flinkQueries, flinkTables } from "./flink-queries.ts";

const program = fileURLToPath(new URL("./FlinkRun.java", import.meta.url));
const java = process.env.JAVA_BIN ?? "java";
/** What Flink reads of Java's own classes. */
const opened = ["java.util", "java.lang"].map(
  (name) => `--add-opens=java.base/${name}=ALL-UNNAMED`,
);

export class FlinkAnswers {
  readonly #process: ChildProcessByStdio<Writable, Readable, null>;
  readonly #lines: Interface;
  readonly #tables: readonly string[];

  private constructor(jars: string, files: NexmarkFiles) {
    const command = ["-Xmx3g", ...opened, "-cp", `${jars}/*`, program];
    this.#process = spawn(java, command, { stdio: ["pipe", "pipe", "ignore"] });
    this.#lines = createInterface(this.#process.stdout);
    this.#tables = flinkTables(files);
  }

  /** Undefined where it is not installed. */
  static open(files: NexmarkFiles): FlinkAnswers | undefined {
    const jars = process.env.CAPSTAN_FLINK;
    return jars === undefined ? undefined : new FlinkAnswers(jars, files);
  }

  knows({ name }: NexmarkQuery): boolean {
    return flinkQueries[name] !== undefined;
  }

  /** Runs a query whose rows go nowhere. */
  run(query: NexmarkQuery): Promise<Pick<Spent, "cpuMs">> {
    return this.#insert(query, "'connector' = 'blackhole'");
  }

  /** Writes the rows as CSV files into a directory. */
  async write(query: NexmarkQuery, directory: string): Promise<void> {
    rmSync(directory, { recursive: true, force: true });
    const sink = `'connector' = 'filesystem', 'path' = 'file://${directory}', 'format' = 'csv'`;
    await this.#insert(query, sink);
  }

  async #insert(query: NexmarkQuery, sink: string): Promise<Pick<Spent, "cpuMs">> {
    const named = query.result.split(", ").map((column) => {
      const [name, type] = column.split(" ");
      return `\`${name}\` ${type === "VARCHAR" ? "STRING" : type}`;
    });
    const statements = [
      ...this.#tables,
      `CREATE TABLE answer (${named.join(", ")}) WITH (${sink})`,
      `INSERT INTO answer ${flinkQueries[query.name]}`,
    ];
    this.#process.stdin.write(`${statements.join("\f").replaceAll("\n", " ")}\n`);
    const ended = once(this.#process, "exit").then(() => ["error Flink ended"]);
    const [line] = (await Promise.race([once(this.#lines, "line"), ended])) as string[];
    const cpuMs = Number(line);
    if (!Number.isFinite(cpuMs)) throw new Error(`Flink, ${query.name}: ${line}`);
    return { cpuMs };
  }

  close(): void {
    this.#process.kill();
  }
}
