/** Gives the data of a script to its sources, and places to its sinks. */
import { mkdir, writeFile } from "node:fs/promises";
import type { Server } from "node:net";
import { join } from "node:path";
import {
  type AstSetting,
  type AstSink,
  type Statement,
  withSetting,
} from "../../../src/kinds/stream/language/core/index.ts";
import { readAttached, serveContent } from "./attached-content.ts";
import type { Attached } from "./parse-script.ts";

export interface AttachedPlaces {
  readonly suiteDir: string;
  /** A folder of this script's own. */
  readonly dir: string;
}

export class AttachedData {
  readonly #places: AttachedPlaces;
  readonly #servers: Server[] = [];
  #count = 0;

  constructor(places: AttachedPlaces) {
    this.#places = places;
  }

  /** The folder that relative paths of sources are below. */
  get testdata(): string {
    return join(this.#places.suiteDir, "testdata");
  }

  /** The statement with what the data that is attached to it adds. */
  async attach(statement: Statement, attached: Attached | undefined): Promise<Statement> {
    if (statement.kind === "createSink") {
      return {
        ...statement,
        settings: this.#sinkSettings(statement.type.text, statement.settings),
      };
    }
    if (statement.kind !== "createPhysicalSource" || attached === undefined) return statement;
    const content = await readAttached(this.#places.suiteDir, attached);
    const settings =
      statement.type.text.toUpperCase() === "TCP"
        ? await this.#serve(statement.settings, content)
        : withSetting(statement.settings, "SOURCE", "FILE_PATH", await this.#store(content));
    return { ...statement, settings };
  }

  withPlaces(sinks: readonly AstSink[]): readonly AstSink[] {
    return sinks.map((sink) =>
      sink.kind === "anonymous"
        ? { ...sink, settings: this.#sinkSettings(sink.type, sink.settings) }
        : sink,
    );
  }

  close(): void {
    for (const server of this.#servers) server.close();
  }

  #sinkSettings(type: string, settings: readonly AstSetting[]): readonly AstSetting[] {
    const isFile = ["FILE", "CHECKSUM"].includes(type.toUpperCase());
    if (!isFile) return settings;
    this.#count += 1;
    return withSetting(settings, "SINK", "FILE_PATH", join(this.#places.dir, `out-${this.#count}`));
  }

  async #store(content: Buffer): Promise<string> {
    this.#count += 1;
    await mkdir(this.#places.dir, { recursive: true });
    const path = join(this.#places.dir, `in-${this.#count}`);
    await writeFile(path, content);
    return path;
  }

  async #serve(settings: readonly AstSetting[], content: Buffer): Promise<readonly AstSetting[]> {
    const { server, port } = await serveContent(content);
    this.#servers.push(server);
    const withHost = withSetting(settings, "SOURCE", "SOCKET_HOST", "127.0.0.1");
    return withSetting(withHost, "SOURCE", "SOCKET_PORT", port);
  }
}
