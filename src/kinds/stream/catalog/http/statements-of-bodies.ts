/** From a body of the API to the statement that says the same. */
import type { z } from "zod";
import { assert, OperatingError } from "../../../../ground/kernel/errors.ts";
import type { TypeName } from "../../language/core/index.ts";
import type { CatalogObject } from "../core/bodies.ts";
import {
  printSchema,
  printSettings,
  quoteName,
  quoteText,
  setOf,
} from "../core/print-statement.ts";
import type {
  createPhysicalSourceSchema,
  createQuerySchema,
  createSinkSchema,
  createSourceSchema,
  createWorkerSchema,
} from "./stream-schemas.ts";

type Given<Schema extends z.ZodType> = z.infer<Schema>;

export function statementOfBody(object: CatalogObject, body: unknown): string {
  switch (object) {
    case "logical source":
      return sourceStatement(body as Given<typeof createSourceSchema>);
    case "physical source":
      return physicalStatement(body as Given<typeof createPhysicalSourceSchema>);
    case "sink":
      return sinkStatement(body as Given<typeof createSinkSchema>);
    case "query":
      return queryStatement(body as Given<typeof createQuerySchema>);
    case "worker":
      return workerStatement(body as Given<typeof createWorkerSchema>);
    case "view":
      assert(false, "views are created by statements");
  }
}

function sourceStatement(body: Given<typeof createSourceSchema>): string {
  const { name, schema, watermark } = body;
  const promise =
    watermark === undefined
      ? ""
      : ` WATERMARK(${quoteName(watermark.column)}, ${watermark.bound_ms} MS)`;
  return `CREATE LOGICAL SOURCE ${ifNotExists(body)}${quoteName(name)}${printSchema(schema.map(fieldOf))}${promise}`;
}

function physicalStatement(body: Given<typeof createPhysicalSourceSchema>): string {
  const { logical_source, type, config, parser, worker } = body;
  const settings = [
    ...printSettings("SOURCE", config),
    ...printSettings("PARSER", parser),
    ...printSettings("SOURCE", worker === undefined ? {} : { HOST: worker }),
  ];
  return `CREATE PHYSICAL SOURCE ${ifNotExists(body)}FOR ${quoteName(logical_source)} TYPE ${quoteName(type)}${setOf(settings)}`;
}

function sinkStatement(body: Given<typeof createSinkSchema>): string {
  const { name, schema, type, config, formatter, worker } = body;
  const { TYPE, ...others } = formatter;
  const settings = [
    ...printSettings("SINK", config),
    ...printSettings("SINK", TYPE === undefined ? {} : { OUTPUT_FORMAT: TYPE }),
    ...printSettings("OUTPUT_FORMATTER", others),
    ...printSettings("SINK", worker === undefined ? {} : { HOST: worker }),
  ];
  const fields = schema === undefined ? "" : printSchema(schema.map(fieldOf));
  return `CREATE SINK ${ifNotExists(body)}${quoteName(name)}${fields} TYPE ${quoteName(type)}${setOf(settings)}`;
}

function queryStatement(body: Given<typeof createQuerySchema>): string {
  const end = endOf(body);
  const written = end === "" ? body.statement : body.statement.replace(/;\s*$/, "");
  const statement = `${written}${end}`;
  if (body.name === undefined) return statement;
  const create = body.or_replace ? "CREATE OR REPLACE QUERY " : "CREATE QUERY ";
  return `${create}${ifNotExists(body)}${quoteName(body.name)} AS ${statement}`;
}

/** On lines of its own, since the statement may end with a comment. */
function endOf({ settings = {}, from_checkpoint: from }: Given<typeof createQuerySchema>): string {
  const set = setOf(printSettings("QUERY", settings));
  const of = from?.query === undefined ? "" : ` FOR ${quoteText(from.query)}`;
  const start = from === undefined ? "" : `\nFROM CHECKPOINT ${from.checkpoint}${of}`;
  return `${set === "" ? "" : `\n${set.trim()}`}${start}`;
}

/** An error's place in the text that the caller wrote, which is in the statement. */
export function inOwnText(thrown: unknown, statement: string, written: string): unknown {
  const before = statement.indexOf(written);
  if (before <= 0 || !(thrown instanceof OperatingError) || thrown.position?.line !== 1) {
    return thrown;
  }
  const { code, retry, message, hint, number, position } = thrown;
  return new OperatingError(code, retry, message, {
    cause: thrown,
    position: { line: 1, column: Math.max(1, position.column - before) },
    ...(number === undefined ? {} : { number }),
    ...(hint === undefined ? {} : { hint }),
  });
}

function workerStatement(body: Given<typeof createWorkerSchema>): string {
  const { label, host, grpc_port, data_port, slots, peers } = body;
  const settings = printSettings("WORKER", {
    HOST_NAME: host,
    GRPC_PORT: grpc_port,
    ...(data_port === undefined ? {} : { DATA_PORT: data_port }),
    NUM_SLOTS: slots,
    ...(peers.length === 0 ? {} : { PEERS: peers.join(",") }),
  });
  const name = quoteText(label ?? `${host}:${grpc_port}`);
  return `CREATE WORKER ${ifNotExists(body)}${name}${setOf(settings)}`;
}

function fieldOf({ name, type, nullable }: Given<typeof createSourceSchema>["schema"][number]) {
  // Whether there is such a type is up to the language.
  return { name, type: { name: type as TypeName, nullable } };
}

function ifNotExists({ if_not_exists }: { readonly if_not_exists: boolean }): string {
  return if_not_exists ? "IF NOT EXISTS " : "";
}
