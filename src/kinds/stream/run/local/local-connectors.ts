/**
 * The connectors of a query: paths are relative to a folder, and a Print sink writes where it is
 * told. In a cluster File sees nothing but that folder (SU60).
 */
import { isAbsolute, join } from "node:path";
import type { Clock } from "../../../../ground/kernel/clock.ts";
import {
  createRecordWriter,
  type GeneratorStop,
  parseGeneratorSchema,
} from "../../engine/core/index.ts";
import { DialectError, type Settings } from "../../language/core/index.ts";
import type { SinkWriter, SourceReader } from "../core/connector.ts";
import type { Connectors, OpenSink, OpenSource } from "../core/connectors.ts";
import type { QueryRun } from "../core/stream-host.ts";
import type { SystemCalls } from "../core/system-rows.ts";
import type { FragmentLake } from "../lake/fragment-lake.ts";
import { openLookupTable } from "../lake/lookup-table.ts";
import { openChecksumWriter } from "../sinks/checksum-writer.ts";
import { openFileWriter } from "../sinks/file-writer.ts";
import { openLakeWriter } from "../sinks/lake-writer.ts";
import { openPreviewWriter, type PreviewGiver } from "../sinks/preview-writer.ts";
import { openPrintWriter, openVoidWriter } from "../sinks/simple-writers.ts";
import { openTcpWriter } from "../sinks/tcp-writer.ts";
import { openFileReader } from "../sources/file-reader.ts";
import { openGeneratorReader } from "../sources/generator-reader.ts";
import { openHttpReader } from "../sources/http-reader.ts";
import { openLakeReader } from "../sources/lake-reader.ts";
import { openSystemReader } from "../sources/system-reader.ts";
import { openTcpReader } from "../sources/tcp-reader.ts";
import { confine } from "./confine.ts";

export interface LocalPlaces {
  /** Relative paths of sources are below it. */
  readonly sourceDir: string;
  readonly sinkDir: string;
  /** Whether files outside of the two folders are refused. */
  readonly confined?: boolean;
  /** What a person should know, such as the port of a source. */
  readonly tell?: (text: string) => void;
  readonly print: (sink: string, text: string) => Promise<void> | undefined;
  /** Absent where there is none. */
  readonly lake?: FragmentLake;
  /** The streams of the system; absent where there are none. */
  readonly system?: SystemCalls;
  /** Where previews put their rows; absent in a process without previews. */
  readonly preview?: PreviewPlace;
}

export interface PreviewPlace {
  readonly giverOf: (run: QueryRun) => PreviewGiver;
  readonly clock: Clock;
}

type Source = (options: OpenSource, places: LocalPlaces) => Promise<SourceReader> | SourceReader;
type Sink = (options: OpenSink, places: LocalPlaces) => Promise<SinkWriter> | SinkWriter;

const connectMsMax = 10_000;
const httpQueueBytesMax = 16 * 1024 * 1024;

const sources: Readonly<Record<string, Source>> = {
  FILE: async ({ op, settings, clock, from }, { sourceDir, confined }) =>
    await openFileReader({
      path: await fileBelow(sourceDir, textOf(op.config, "FILE_PATH"), confined),
      bufferBytes: settings.bufferBytes,
      follow: op.config.FOLLOW === true,
      from,
      clock,
    }),
  LAKE: ({ op, from }, places) => openLakeReader({ op, from, lake: lakeOf(places) }),
  SYSTEM: ({ op, from }, { system: calls }) => {
    if (calls !== undefined) return openSystemReader({ op, from, calls });
    throw new DialectError(2008, "there are no streams of the system here");
  },
  TCP: ({ op, settings, clock }) =>
    openTcpReader({
      ...addressOf(op.config),
      bufferBytes: settings.bufferBytes,
      retries: Number(op.config.RETRIES),
      retryIntervalMs: Number(op.config.RETRY_INTERVAL),
      clock,
    }),
  HTTP: ({ op, settings, clock }, { tell }) =>
    openHttpReader({
      host: textOf(op.config, "HTTP_HOST"),
      port: Number(op.config.HTTP_PORT),
      path: textOf(op.config, "HTTP_PATH"),
      token: op.config.TOKEN === undefined ? undefined : String(op.config.TOKEN),
      delimiter: new TextEncoder().encode(String(op.parser.TUPLE_DELIMITER ?? "\n")),
      bufferBytes: settings.bufferBytes,
      queueBytesMax: httpQueueBytesMax,
      clock,
      onListening: (url) => tell?.(`${op.name} takes rows at ${url}`),
    }),
  GENERATOR: ({ op, clock, from }) =>
    openGeneratorReader({
      record: op.record,
      columns: op.columns,
      generators: parseGeneratorSchema(textOf(op.config, "GENERATOR_SCHEMA"), op.record),
      seed: Number(op.config.SEED ?? 0),
      stop: stopOf(op.config),
      rate: Number(op.config.ROWS_PER_SECOND) || undefined,
      from,
      clock,
    }),
};

const sinks: Readonly<Record<string, Sink>> = {
  FILE: async ({ op, schema, from }, { sinkDir, confined }) =>
    await openFileWriter({
      path: await fileBelow(sinkDir, textOf(op.config, "FILE_PATH"), confined),
      append: op.config.APPEND === true,
      writer: createRecordWriter(op, schema),
      from,
    }),
  LAKE: ({ op, schema }, places) => openLakeWriter({ op, schema, lake: lakeOf(places) }),
  CHECKSUM: async ({ op, schema, from }, { sinkDir, confined }) => {
    const path = op.config.FILE_PATH;
    return await openChecksumWriter({
      path: typeof path === "string" ? await fileBelow(sinkDir, path, confined) : undefined,
      writer: createRecordWriter(op, schema),
      from,
    });
  },
  PRINT: ({ op, schema }, { print }) =>
    openPrintWriter(createRecordWriter(op, schema), (text) => print(op.name, text)),
  PREVIEW: ({ op, schema, run }, { preview }) => {
    if (preview === undefined) throw new DialectError(2008, "nobody can look at a preview here");
    const { giverOf, clock } = preview;
    return openPreviewWriter({ op, schema, giver: giverOf(run), clock });
  },
  VOID: () => openVoidWriter(),
  TCP: ({ op, schema }) =>
    openTcpWriter({ ...addressOf(op.config), writer: createRecordWriter(op, schema) }),
};

export function createLocalConnectors(places: LocalPlaces): Connectors {
  return {
    openSource: async (options) => await find(sources, options.op.type, 2017)(options, places),
    openSink: async (options) => await find(sinks, options.op.type, 2016)(options, places),
    openTable: ({ op: { table, columns }, memory }) =>
      openLookupTable({ table, columns, memory, lake: lakeOf(places) }),
  };
}

function lakeOf({ lake }: LocalPlaces): FragmentLake {
  if (lake !== undefined) return lake;
  throw new DialectError(2008, "there is no lake here");
}

function find<T>(all: Readonly<Record<string, T>>, type: string, number: 2016 | 2017): T {
  const found = all[type.toUpperCase()];
  if (found !== undefined) return found;
  const role = number === 2016 ? "sink" : "source";
  throw new DialectError(number, `a ${role} of type ${type} cannot be run by this command`);
}

function addressOf(config: Settings): { host: string; port: number; connectMsMax: number } {
  const host = textOf(config, "SOCKET_HOST");
  return { host, port: Number(config.SOCKET_PORT), connectMsMax };
}

function textOf(config: Settings, key: string): string {
  const value = config[key];
  if (typeof value === "string") return value;
  throw new DialectError(1000, `${key} is missing`);
}

function stopOf(config: Settings): GeneratorStop {
  const stop = String(config.STOP_GENERATOR_WHEN_SEQUENCE_FINISHES ?? "ALL").toUpperCase();
  return stop === "ONE" || stop === "NONE" ? stop : "ALL";
}

async function fileBelow(folder: string, path: string, confined = false): Promise<string> {
  if (confined) return await confine(folder, path);
  return isAbsolute(path) ? path : join(folder, path);
}
