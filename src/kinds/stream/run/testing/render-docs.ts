/**
 * Makes docs/stream-sql.md what it says: tables come from the descriptors, and behind every example
 * stands what it prints. The test compares the page with what this makes of it.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, sep } from "node:path";
import {
  type ConnectorDescriptor,
  DialectError,
  dialectErrors,
  dialectFunctions,
  type FormatDescriptor,
  inputFormats,
  outputFormats,
  querySettings,
  sinkDescriptors,
  sourceDescriptors,
  systemPrefix,
  systemStreams,
  workerSettings,
} from "../../language/core/index.ts";
import { runSql } from "./run-sql.ts";
import { settingsTable } from "./settings-table.ts";

const example = /^```sql\n([\s\S]*?)^```\n(?:\n```text\n[\s\S]*?^```\n)?/gm;
const dataFile = /^```(?:csv|json) (\S+)\n([\s\S]*?)^```$/gm;
const section = /^<!-- (\w+) -->\n[\s\S]*?^<!-- \/\1 -->$/gm;

export interface RenderedDocs {
  readonly text: string;
  readonly exampleCount: number;
}

export async function renderDocs(text: string): Promise<RenderedDocs> {
  const folder = await mkdtemp(join(tmpdir(), "capstan-stream-docs-"));
  try {
    for (const [, name = "", content = ""] of text.matchAll(dataFile)) {
      await writeFile(join(folder, name), content);
    }
    const outputs: string[] = [];
    for (const [, sql = ""] of text.matchAll(example)) outputs.push(await outputOf(sql, folder));
    let next = 0;
    const withOutputs = text.replace(example, (_, sql: string) => {
      const output = outputs[next] ?? "";
      next += 1;
      return `\`\`\`sql\n${sql}\`\`\`\n\n\`\`\`text\n${output}\`\`\`\n`;
    });
    const whole = withOutputs.replace(section, (_, name: string) => {
      const content = sections[name]?.() ?? "";
      return `<!-- ${name} -->\n${content}\n<!-- /${name} -->`;
    });
    return { text: whole, exampleCount: outputs.length };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function outputOf(sql: string, folder: string): Promise<string> {
  try {
    const { printed } = await runSql(sql, { folder });
    return printed.replaceAll(`${folder}${sep}`, "");
  } catch (thrown) {
    if (!(thrown instanceof DialectError)) throw thrown;
    const { number, message, position, hint } = thrown;
    const place =
      position === undefined ? "" : ` (line ${position.line}, column ${position.column})`;
    return `error ${number}: ${message}${place}\n${hint === undefined ? "" : `hint:  ${hint}\n`}`;
  }
}

const sections: Readonly<Record<string, () => string>> = {
  functions: () => {
    const signatures = [...dialectFunctions].map(([name, { args, optional = 0, variadic }]) => {
      const texts = args.map((arg, index) => (index < args.length - optional ? arg : `[${arg}]`));
      return `\`${name}(${texts.join(", ")}${variadic === true ? ", …" : ""})\``;
    });
    return `${signatures.join(", ")}.`;
  },
  sources: () => connectors(sourceDescriptors, '"SOURCE"'),
  system: () =>
    systemStreams
      .map(({ name, description, guarantee, columns }) => {
        const rows = columns.map(
          (column) =>
            `| \`${column.name}\` | ${column.type}${column.nullable === true ? ", may be NULL" : ""} | ${column.description} |`,
        );
        const head = ["| Column | Type | |", "| --- | --- | --- |"];
        const title = `### ${systemPrefix}${name}\n\n${description} Guarantee: ${guarantee}.`;
        return `${title}\n\n${[...head, ...rows].join("\n")}`;
      })
      .join("\n\n"),
  sinks: () => connectors(sinkDescriptors, '"SINK"'),
  formats: () =>
    [
      ...formats(inputFormats, "INPUT_FORMATTER", "in"),
      ...formats(outputFormats, "OUTPUT_FORMATTER", "out"),
    ].join("\n\n"),
  query: () => settingsTable('"QUERY"', querySettings),
  worker: () => settingsTable('"WORKER"', workerSettings),
  guarantees: () => {
    const rows = (role: string, all: readonly ConnectorDescriptor[]): string[] =>
      all.map(({ type, guarantee }) => `| ${type} ${role} | ${guarantee} |`);
    const head = ["| | |", "| --- | --- |"];
    return [...head, ...rows("source", sourceDescriptors), ...rows("sink", sinkDescriptors)].join(
      "\n",
    );
  },
  errors: () =>
    [
      "| Number | Name |",
      "| --- | --- |",
      ...Object.entries(dialectErrors).map(([number, name]) => `| ${number} | ${name} |`),
    ].join("\n"),
};

function connectors(all: readonly ConnectorDescriptor[], prefix: string): string {
  return all
    .map(
      ({ type, description, settings }) =>
        `### ${type}\n\n${description}\n\n${settingsTable(prefix, settings)}`,
    )
    .join("\n\n");
}

function formats(
  all: readonly FormatDescriptor[],
  prefix: string,
  direction: string,
): readonly string[] {
  return all.map(
    ({ type, description, settings }) =>
      `### ${type} ${direction}\n\n${description}\n\n${settingsTable(prefix, settings)}`,
  );
}
