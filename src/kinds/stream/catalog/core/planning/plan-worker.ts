/** CREATE WORKER: an address, and what the settings say of the worker. */
import { type ErrorCode, OperatingError } from "../../../../../ground/kernel/errors.ts";
import {
  DialectError,
  type Position,
  readWorkerSettings,
  type Settings,
  type Statement,
} from "../../../language/core/index.ts";
import type { CreateWorker } from "../changes.ts";

type CreateWorkerStatement = Extract<Statement, { readonly kind: "createWorker" }>;

export function planWorker({
  name,
  ifNotExists,
  settings,
  position,
}: CreateWorkerStatement): CreateWorker {
  const given = settingsOf(settings, position);
  const address = addressIn(name.text, name.position);
  const host = textOf(given, "HOST_NAME") ?? address.host;
  const grpcPort = numberOf(given, "GRPC_PORT") ?? address.port;
  if (grpcPort === undefined) {
    throw refused(
      "InvalidAddress",
      `the worker ${name.text} has no port`,
      name.position,
      `CREATE WORKER '${host}:4611', or SET(4611 AS GRPC_PORT).`,
    );
  }
  const dataPort = dataPortOf(given, host, position);
  const isAddress = address.port !== undefined || textOf(given, "HOST_NAME") === undefined;
  return {
    kind: "createWorker",
    label: textOf(given, "NAME") ?? (isAddress ? undefined : name.text),
    ...{ ifNotExists, host, grpcPort, dataPort },
    slots: numberOf(given, "CAPACITY") ?? numberOf(given, "NUM_SLOTS") ?? 0,
    peers: (textOf(given, "PEERS") ?? "")
      .split(",")
      .map((peer) => peer.trim())
      .filter((peer) => peer !== ""),
  };
}

/** An invalid port is reported as an invalid address, wherever it is written. */
function settingsOf(settings: CreateWorkerStatement["settings"], position: Position): Settings {
  try {
    return readWorkerSettings(settings, position);
  } catch (thrown) {
    if (!(thrown instanceof DialectError) || !/^(GRPC|DATA)_PORT is/.test(thrown.message)) {
      throw thrown;
    }
    throw refused("InvalidAddress", thrown.message, thrown.position ?? position, thrown.hint);
  }
}

function dataPortOf(given: Settings, host: string, position: Position): number | undefined {
  const own = numberOf(given, "DATA_PORT");
  const data = textOf(given, "DATA");
  if (data === undefined) return own;
  const { host: dataHost, port } = /^\d+$/.test(data)
    ? addressIn(`${host}:${data}`, position)
    : addressIn(data, position);
  if (port === undefined || (own !== undefined && own !== port)) {
    throw refused("InvalidAddress", `DATA is '${host}:port', not '${data}'`, position);
  }
  if (dataHost.toUpperCase() !== host.toUpperCase()) {
    const message = `rows arrive at the worker's own host ${host}, not at ${dataHost}`;
    throw refused("InvalidAddress", message, position);
  }
  return port;
}

const hostForm = /^[\p{L}\p{N}_]([\p{L}\p{N}._-]{0,252})$/u;

/** `host`, `host:port` or `[host]:port`. */
function addressIn(text: string, position: Position): { host: string; port: number | undefined } {
  const bracketed = /^\[([0-9A-Fa-f:.%]+)\](?::(\d+))?$/.exec(text);
  const [, host = text, digits] = bracketed ?? /^([^:]*):(.*)$/.exec(text) ?? [];
  if (bracketed === null && !hostForm.test(host)) {
    throw refused(
      "InvalidAddress",
      `'${text.slice(0, 100)}' is no address`,
      position,
      "An address is host:port.",
    );
  }
  if (digits === undefined) return { host, port: undefined };
  const port = /^\d{1,5}$/.test(digits) ? Number(digits) : 0;
  if (port < 1 || port > 65_535) {
    const message = `a port is a number from 1 to 65535, not '${digits.slice(0, 20)}'`;
    throw refused(
      "InvalidAddress",
      message,
      position,
      `CREATE WORKER '${host}:4611', for example.`,
    );
  }
  return { host, port };
}

function textOf(given: Settings, key: string): string | undefined {
  const value = given[key];
  return value === undefined ? undefined : String(value);
}

function numberOf(given: Settings, key: string): number | undefined {
  const value = given[key];
  return typeof value === "number" ? value : undefined;
}

function refused(
  code: ErrorCode,
  message: string,
  position: Position,
  hint?: string,
): OperatingError {
  return new OperatingError(code, "never", message, {
    position,
    ...(hint === undefined ? {} : { hint }),
  });
}
