/** The statements that make what there is, for SHOW CREATE. Secrets are references in them. */
import { namedSecretOf, type Schema, type Settings } from "../../language/core/index.ts";
import type {
  CatalogBody,
  LogicalSourceBody,
  PhysicalSourceBody,
  QueryBody,
  SinkBody,
  StreamWorkerBody,
} from "./bodies.ts";

export function printStatement(body: CatalogBody): string {
  if ("grpc_port" in body) return printWorker(body);
  if ("query_id" in body) return printQuery(body);
  if ("sink_id" in body) return printSink(body);
  return "physical_source_id" in body ? printPhysicalSource(body) : printLogicalSource(body);
}

export function printSchema(schema: Schema): string {
  const fields = schema.map(
    ({ name, type }) => `${quoteName(name)} ${type.name}${type.nullable ? "" : " NOT NULL"}`,
  );
  return `(${fields.join(", ")})`;
}

function printLogicalSource(body: LogicalSourceBody): string {
  const { kind, schema, watermark, definition } = body;
  const name = quoteName(body.name);
  if (kind === "VIEW") return `CREATE VIEW ${name} AS ${definition}`;
  if (kind === "DERIVED") return `CREATE LOGICAL SOURCE ${name} AS ${definition}`;
  const column = watermark && schema[watermark.column];
  const promise = column ? ` WATERMARK(${quoteName(column.name)}, ${watermark.boundMs} MS)` : "";
  return `CREATE LOGICAL SOURCE ${name}${printSchema(schema)}${promise}`;
}

function printPhysicalSource(body: PhysicalSourceBody): string {
  const settings = [
    ...printSettings("SOURCE", body.config),
    ...printSettings("PARSER", body.parser),
    ...placementOf("SOURCE", body.worker_id),
  ];
  const { logical_source, type } = body;
  return `CREATE PHYSICAL SOURCE FOR ${quoteName(logical_source)} TYPE ${type}${setOf(settings)}`;
}

function printSink(body: SinkBody): string {
  const { schema, type, config, formatter, worker_id } = body;
  const { TYPE, ...others } = formatter;
  const settings = [
    ...printSettings("SINK", config),
    ...printSettings("SINK", TYPE === undefined ? {} : { OUTPUT_FORMAT: TYPE }),
    ...printSettings("OUTPUT_FORMATTER", others),
    ...placementOf("SINK", worker_id),
  ];
  const fields = schema === null ? "" : printSchema(schema);
  return `CREATE SINK ${quoteName(body.name)}${fields} TYPE ${type}${setOf(settings)}`;
}

function printQuery({ name, statement }: QueryBody): string {
  if (name === null || /^\s*CREATE\b/i.test(statement)) return statement;
  return `CREATE QUERY ${quoteName(name)} AS ${statement}`;
}

function printWorker({
  label,
  host,
  grpc_port,
  data_port,
  slots,
  peers,
}: StreamWorkerBody): string {
  const settings = [
    ...printSettings("WORKER", {
      HOST_NAME: host,
      GRPC_PORT: grpc_port,
      DATA_PORT: data_port,
      NUM_SLOTS: slots,
    }),
    ...(peers.length === 0 ? [] : printSettings("WORKER", { PEERS: peers.join(",") })),
  ];
  return `CREATE WORKER ${quoteText(label ?? `${host}:${grpc_port}`)}${setOf(settings)}`;
}

export function printSettings(section: string, settings: Settings): readonly string[] {
  return Object.entries(settings).map(([key, value]) => {
    // A path of JSON is FIELD.name already.
    const path = key.startsWith("FIELD.")
      ? `FIELD.${quoteName(key.slice("FIELD.".length))}`
      : `"${section}".${quoteName(key)}`;
    const isText = typeof value === "string" && namedSecretOf(value) === undefined;
    return `${isText ? quoteText(value) : value} AS ${path}`;
  });
}

function placementOf(section: string, workerId: string | null): readonly string[] {
  return workerId === null ? [] : printSettings(section, { HOST: workerId });
}

export function setOf(settings: readonly string[]): string {
  return settings.length === 0 ? "" : ` SET(${[...new Set(settings)].join(", ")})`;
}

export function quoteName(name: string): string {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`;
}

export function quoteText(text: string): string {
  const escaped = text.replaceAll("\\", "\\\\").replaceAll("'", "\\'");
  return `'${escaped}'`;
}
