/** Parses CREATE of sources, sinks, views, queries and workers. */
import { DialectError } from "../dialect-error.ts";
import type { AstName, AstQuery, StatementBody } from "./ast.ts";
import { parseFromCheckpoint } from "./checkpoint-parser.ts";
import { parseQuery } from "./query-parser.ts";
import { parseFields, parseName, parseSet, parseSourceName } from "./settings-parser.ts";
import { parseContinuousQuery } from "./sink-parser.ts";
import type { TokenReader } from "./token-reader.ts";
import { parseWatermark } from "./window-parser.ts";

const known = ["LOGICAL", "PHYSICAL", "SINK", "VIEW", "QUERY", "WORKER"] as const;

/** Reads what stands behind the word CREATE. */
export function parseCreate(reader: TokenReader): StatementBody {
  if (reader.takeWords("OR", "REPLACE")) {
    if (reader.takeWords("QUERY")) return parseCreateQuery(reader, true);
    throw reader.error(
      "only a query can be replaced by CREATE OR REPLACE",
      reader.peek(),
      "Drop what has the name and create it anew, in one bundle with the queries that use it.",
    );
  }
  if (reader.takeWords("LOGICAL", "SOURCE")) return parseLogicalSource(reader);
  if (reader.takeWords("PHYSICAL", "SOURCE")) return parsePhysicalSource(reader);
  if (reader.takeWords("SINK")) return parseCreateSink(reader);
  if (reader.takeWords("VIEW")) return parseView(reader);
  if (reader.takeWords("QUERY")) return parseCreateQuery(reader, false);
  if (reader.takeWords("WORKER")) return parseWorker(reader);
  if (reader.isWords("MODEL")) {
    throw new DialectError(2008, "models are not supported", { position: reader.position() });
  }
  if (reader.isWords("SOURCE")) {
    throw reader.error(
      "a source is LOGICAL or PHYSICAL",
      reader.peek(),
      "CREATE LOGICAL SOURCE has the columns, CREATE PHYSICAL SOURCE FOR it says where its rows come from.",
    );
  }
  throw reader.unexpected("LOGICAL SOURCE, PHYSICAL SOURCE, SINK, VIEW, QUERY or WORKER", known);
}

function parseIfNotExists(reader: TokenReader): boolean {
  return reader.takeWords("IF", "NOT", "EXISTS");
}

function parseLogicalSource(reader: TokenReader): StatementBody {
  const ifNotExists = parseIfNotExists(reader);
  const name = parseSourceName(reader, "the name of the source");
  const kind = "createLogicalSource";
  if (reader.takeWords("AS")) {
    return {
      kind,
      name,
      ifNotExists,
      fields: undefined,
      watermark: undefined,
      ...parseDefinition(reader),
    };
  }
  const fields = parseFields(reader);
  const watermark = parseWatermark(reader);
  return { kind, name, ifNotExists, fields, watermark, query: undefined, definition: undefined };
}

/** A query, and how it is written. */
function parseDefinition(reader: TokenReader): { query: AstQuery; definition: string } {
  const { start } = reader.peek();
  const query = parseQuery(reader);
  return { query, definition: reader.text.slice(start, reader.previous().end) };
}

function parsePhysicalSource(reader: TokenReader): StatementBody {
  const ifNotExists = parseIfNotExists(reader);
  reader.expectWords("FOR");
  const logical = parseSourceName(reader, "the name of a logical source");
  reader.expectWords("TYPE");
  const type = parseName(reader, "the type of the source");
  return { kind: "createPhysicalSource", logical, ifNotExists, type, settings: parseSet(reader) };
}

function parseCreateSink(reader: TokenReader): StatementBody {
  const ifNotExists = parseIfNotExists(reader);
  const name = parseName(reader, "the name of the sink");
  const fields = reader.isSymbol("(") ? parseFields(reader) : undefined;
  reader.expectWords("TYPE");
  const type = parseName(reader, "the type of the sink");
  return { kind: "createSink", name, ifNotExists, fields, type, settings: parseSet(reader) };
}

function parseView(reader: TokenReader): StatementBody {
  const ifNotExists = parseIfNotExists(reader);
  const name = parseSourceName(reader, "the name of the view");
  reader.expectWords("AS");
  return { kind: "createView", name, ifNotExists, ...parseDefinition(reader) };
}

function parseCreateQuery(reader: TokenReader, replaces: boolean): StatementBody {
  const ifNotExists = !replaces && parseIfNotExists(reader);
  const name = parseName(reader, "the name of the query");
  reader.expectWords("AS");
  const query = parseContinuousQuery(reader);
  const from = parseFromCheckpoint(reader);
  return { kind: "createQuery", name, ifNotExists, replaces, query, from };
}

/** A worker is named, or called by its address: `CREATE WORKER 'host:8080' SET(…)`. */
function parseWorker(reader: TokenReader): StatementBody {
  const ifNotExists = parseIfNotExists(reader);
  const name = parseWorkerName(reader);
  return { kind: "createWorker", name, ifNotExists, settings: parseSet(reader) };
}

function parseWorkerName(reader: TokenReader): AstName {
  const token = reader.peek();
  if (token.type !== "text") return parseName(reader, "the name of the worker");
  reader.take();
  return { text: token.text, position: reader.position(token) };
}
