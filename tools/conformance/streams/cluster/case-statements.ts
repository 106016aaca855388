/**
 * The statements of one case: what its script defines, with the data, the places and the workers
 * that the suite's runner adds, each as a text that a person could type.
 */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import type { Server } from "node:net";
import { join } from "node:path";
import {
  type AstSetting,
  parseStatements,
  type Statement,
} from "../../../../src/kinds/stream/language/core/index.ts";
import { readAttached, serveContent } from "../attached-content.ts";
import type { Attached } from "../parse-script.ts";
import { type AddedSetting, queryIn, withSet, withSettingsInPlace } from "./edit-statements.ts";
import { workerNames } from "./stream-cluster.ts";

/** A definition of the script, and the data that is attached to it. */
export interface Definition {
  readonly statement: Statement;
  readonly attached: Attached | undefined;
}

export interface CasePlaces {
  readonly suiteDir: string;
  /** What paths of sources and sinks are relative to. */
  readonly streamDir: string;
  /** The case's own folder in it. */
  readonly name: string;
}

export interface QueryText {
  readonly text: string;
  /** The file of its first sink, below the stream directory; `undefined`: it writes none. */
  readonly output: string | undefined;
}

const [firstWorker, lastWorker] = workerNames;

export class CaseStatements {
  readonly #places: CasePlaces;
  readonly #servers: Server[] = [];
  /** Of named sinks, by name in capital letters. */
  readonly #outputs = new Map<string, string>();
  #sources = 0;
  #files = 0;

  constructor(places: CasePlaces) {
    this.#places = places;
  }

  async open(): Promise<void> {
    const { streamDir, name } = this.#places;
    await mkdir(join(streamDir, name), { recursive: true });
  }

  async definition({ statement, attached }: Definition): Promise<string> {
    if (statement.kind === "createSink") {
      const { text, settings, type, name } = statement;
      const { added, output } = this.#sink(type.text, settings);
      if (output !== undefined) this.#outputs.set(name.text.toUpperCase(), output);
      return withSet(text, settings, added);
    }
    if (statement.kind !== "createPhysicalSource") return statement.text;
    const { text, settings, type } = statement;
    const data = attached === undefined ? [] : await this.#data(type.text, attached);
    // By turns, so that queries over several sources have readers on both workers.
    const worker = this.#sources % 2 === 0 ? firstWorker : lastWorker;
    this.#sources += 1;
    return withSet(text, settings, [...data, host("SOURCE", worker)]);
  }

  /** A text that is no query is sent as it is, since the coordinator is to refuse it. */
  query(text: string, added: readonly AddedSetting[]): QueryText {
    const parsed = queryIn(text);
    if (parsed === undefined) return { text, output: undefined };
    const { sinks, settings } = parsed.query;
    let edited = withSet(text.replace(/[;\s]+$/, ""), settings, added);
    let output: string | undefined;
    for (const sink of [...sinks].reverse()) {
      if (sink.kind === "named") output = this.#outputs.get(sink.name.toUpperCase());
      if (sink.kind === "anonymous") {
        const placed = this.#sink(sink.type, sink.settings);
        edited = withSettingsInPlace(edited, sink.position, sink.settings, placed.added);
        output = placed.output;
      }
    }
    return { text: edited, output };
  }

  /** The lines of a sink's file. */
  async read(output: string): Promise<readonly string[]> {
    const rows = (await readFile(join(this.#places.streamDir, output), "utf8")).split("\n");
    if (rows.at(-1) === "") rows.pop();
    return rows;
  }

  close(): void {
    for (const server of this.#servers) server.close();
  }

  /** Sinks are where the first source is not, so that rows cross. */
  #sink(
    type: string,
    given: readonly AstSetting[],
  ): { readonly added: readonly AddedSetting[]; readonly output: string | undefined } {
    const isFile = ["FILE", "CHECKSUM"].includes(type.toUpperCase());
    if (!isFile) return { added: [], output: undefined };
    const own = given.find(({ path }) => path.at(-1)?.text.toUpperCase() === "FILE_PATH")?.value;
    const output = own?.kind === "text" ? own.value : this.#newFile("out");
    const added = [host("SINK", lastWorker), setting("SINK", "FILE_PATH", output)];
    return { added, output };
  }

  async #data(type: string, attached: Attached): Promise<readonly AddedSetting[]> {
    const { suiteDir, streamDir } = this.#places;
    const content = await readAttached(suiteDir, attached);
    if (type.toUpperCase() === "TCP") {
      const { server, port } = await serveContent(content);
      this.#servers.push(server);
      return [
        setting("SOURCE", "SOCKET_HOST", "127.0.0.1"),
        setting("SOURCE", "SOCKET_PORT", port),
      ];
    }
    const path = this.#newFile("in");
    await writeFile(join(streamDir, path), content);
    return [setting("SOURCE", "FILE_PATH", path)];
  }

  #newFile(what: string): string {
    this.#files += 1;
    return join(this.#places.name, `${what}-${this.#files}`);
  }
}

/** The statements of a text, each with the data that is attached to the text. */
export function definitionsIn(text: string, attached: Attached | undefined): readonly Definition[] {
  return parseStatements(text).map((statement) => ({ statement, attached }));
}

/** The name that a definition takes, as names of its kind compare; `undefined`: it takes none. */
export function nameOf({ statement }: Definition): string | undefined {
  switch (statement.kind) {
    case "createSink":
      return `sink ${statement.name.text.toUpperCase()}`;
    case "createLogicalSource":
    case "createView":
      return `source ${statement.name.text.toUpperCase()}`;
    default:
      return undefined;
  }
}

function setting(section: string, key: string, value: string | number): AddedSetting {
  return { section, key, value };
}

function host(section: string, worker: string): AddedSetting {
  return setting(section, "HOST", worker);
}
