/** From an address to a wire: TCP or a Unix socket, then TLS as far as `sslmode` asks for it. */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect as connectSocket, type Socket } from "node:net";
import { type ConnectionOptions, connect as connectTls } from "node:tls";
import type { Clock } from "../../../../ground/kernel/clock.ts";
import { messageOf, OperatingError } from "../../../../ground/kernel/errors.ts";
import { guardedLookup } from "../guarded-lookup.ts";
import { sslRequestFrame } from "./frames.ts";
import { type PostgresAddress, postgresPlace, postgresSocket } from "./parse-postgres-url.ts";
import { Wire, type WireReceiver } from "./wire.ts";

/** One read of the socket. More rows than fit are more reads. */
const receiveBytes = 32_768;
const keepAliveMs = 30_000;

interface PlainSocket {
  readonly socket: Socket;
  /** Whoever gets its bytes. Until somebody is set they are kept. */
  setSink(sink: (bytes: Buffer, length: number) => void): void;
}

/**
 * `signal` also ends it when it takes too long; what it rejects with is the caller's reason then.
 */
export async function openWire(
  address: PostgresAddress,
  clock: Clock,
  signal: AbortSignal,
  receiver: WireReceiver,
  options: { readonly keepsRows: boolean },
): Promise<Wire> {
  const plain = openPlain(address);
  const abort = (): void => {
    plain.socket.destroy();
  };
  signal.addEventListener("abort", abort, { once: true });
  try {
    await once(plain.socket, "connect", { signal });
    const isTls = address.sslMode !== "disable" && (await negotiateTls(plain, address, signal));
    if (!isTls) {
      const wire = new Wire(plain.socket, clock, receiver, options);
      plain.setSink((bytes, length) => wire.receive(bytes, length));
      return wire;
    }
    const secure = connectTls({ socket: plain.socket, ...tlsOptions(address) });
    await once(secure, "secureConnect", { signal });
    const wire = new Wire(secure, clock, receiver, options);
    secure.on("data", (bytes: Buffer) => wire.receive(bytes, bytes.length));
    return wire;
  } catch (error) {
    plain.socket.destroy();
    if (error instanceof OperatingError) throw error;
    throw unreachableTarget(address, error);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

/** Reads into memory of its own: one read, no allocation. */
function openPlain({ host, port }: PostgresAddress): PlainSocket {
  let sink: ((bytes: Buffer, length: number) => void) | undefined;
  let early = Buffer.alloc(0);
  const buffer = Buffer.allocUnsafeSlow(receiveBytes);
  const onread = {
    buffer,
    callback: (length: number): boolean => {
      if (sink === undefined) early = Buffer.concat([early, buffer.subarray(0, length)]);
      else sink(buffer, length);
      return true;
    },
  };
  const place = host.startsWith("/")
    ? { path: postgresSocket(host, port) }
    : { host, port, lookup: guardedLookup };
  const socket = connectSocket({
    ...place,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: keepAliveMs,
    onread,
  });
  socket.on("error", () => undefined); // Whoever waits has its own listener.
  return {
    socket,
    setSink: (next) => {
      sink = next;
      if (early.length > 0) next(early, early.length);
      early = Buffer.alloc(0);
    },
  };
}

/** Whether the server agreed to TLS. */
async function negotiateTls(
  plain: PlainSocket,
  address: PostgresAddress,
  signal: AbortSignal,
): Promise<boolean> {
  const answer = new Promise<string>((resolve) => {
    plain.setSink((bytes, length) => resolve(bytes.toString("latin1", 0, length)));
  });
  const isOver = once(plain.socket, "close", { signal }).then(() => "");
  isOver.catch(() => undefined); // When it is not what the race is decided by.
  plain.socket.write(sslRequestFrame);
  const said = await Promise.race([answer, isOver]);
  if (said === "S") return true;
  if (said === "N" && address.sslMode === "prefer") return false;
  // More than one byte before TLS may come from somebody in between.
  throw new OperatingError(
    "target_refused",
    "never",
    `${postgresPlace(address)} ${said === "N" ? "has no TLS" : "did not answer the request for TLS"}`,
    { hint: `sslmode=${address.sslMode} asks for TLS` },
  );
}

function tlsOptions({ host, sslMode, sslRootCert }: PostgresAddress): ConnectionOptions {
  const isVerified = sslMode === "verify-ca" || sslMode === "verify-full";
  const isName = !/^[\d.]+$|:/.test(host);
  return {
    host,
    ...(isName ? { servername: host } : {}),
    rejectUnauthorized: isVerified,
    ...(sslRootCert === undefined ? {} : { ca: readFileSync(sslRootCert) }),
    ...(sslMode === "verify-full" ? {} : { checkServerIdentity: () => undefined }),
  };
}

export function unreachableTarget(address: PostgresAddress, thrown: unknown): OperatingError {
  const text =
    thrown instanceof AggregateError ? thrown.errors.map(messageOf).join("; ") : messageOf(thrown);
  const message = `${postgresPlace(address)} cannot be reached: ${text}`;
  return new OperatingError("target_unreachable", "backoff", message, { cause: thrown });
}
