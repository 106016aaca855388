/** From the startup message to the first ReadyForQuery, including authentication. */
import { createHash } from "node:crypto";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import { randomSecret } from "../../../../ground/kernel/node/system-random.ts";
import {
  type CancelKey,
  passwordFrame,
  saslInitialFrame,
  saslResponseFrame,
  startupFrame,
} from "./frames.ts";
import { MalformedStream } from "./message-scanner.ts";
import { unreachableTarget } from "./open-wire.ts";
import { type PostgresAddress, postgresPlace } from "./parse-postgres-url.ts";
import { createScramClient, type ScramClient, scramMechanism } from "./scram.ts";
import { failureKindOf, parseServerError, type ServerError } from "./server-error.ts";
import type { Wire, WireReceiver } from "./wire.ts";

export class SessionStart implements WireReceiver {
  readonly #address: PostgresAddress;
  readonly #ready = Promise.withResolvers<CancelKey | undefined>();
  #wire: Wire | undefined;
  #scram: ScramClient | undefined;
  #isServerProved = false;
  #cancelKey: CancelKey | undefined;

  constructor(address: PostgresAddress) {
    this.#address = address;
    this.#ready.promise.catch(() => undefined); // It may break before somebody waits.
  }

  /** Rejects when the server refuses us or hangs up; the wire is of no use then. */
  run(wire: Wire): Promise<CancelKey | undefined> {
    this.#wire = wire;
    wire.write(startupFrame(this.#address));
    return this.#ready.promise;
  }

  message(type: number, bytes: Buffer, start: number, end: number): void {
    switch (String.fromCharCode(type)) {
      case "R":
        this.#authenticate(bytes, start, end);
        return;
      case "E":
        this.#refuse(refusalOf(this.#address, parseServerError(bytes, start, end)));
        return;
      case "K":
        if (end - start < 8) throw new MalformedStream("a key that is too short");
        this.#cancelKey = {
          processId: bytes.readInt32BE(start),
          secret: Buffer.from(bytes.subarray(start + 4, end)),
        };
        return;
      case "Z":
        this.#ready.resolve(this.#cancelKey);
        return;
      case "S":
      case "N":
      case "v":
        return;
      default:
        throw new MalformedStream("a message that does not belong to a startup");
    }
  }

  pieceEnded(): void {}

  broken(why: string): void {
    this.#ready.reject(unreachableTarget(this.#address, why));
  }

  #authenticate(bytes: Buffer, start: number, end: number): void {
    if (end - start < 4) throw new MalformedStream("an authentication request without a method");
    const rest = bytes.toString("latin1", start + 4, end);
    switch (bytes.readInt32BE(start)) {
      case 0:
        if (this.#scram !== undefined && !this.#isServerProved) this.#impostor();
        return;
      case 3:
        this.#send((password) => passwordFrame(password));
        return;
      case 5:
        this.#send((password) =>
          passwordFrame(md5Answer(this.#address.user, password, bytes.subarray(start + 4, end))),
        );
        return;
      case 10:
        this.#beginScram(rest.split("\0"));
        return;
      case 11: {
        const answer = this.#scram?.answer(rest);
        if (answer === undefined) this.#impostor();
        else this.#wire?.write(saslResponseFrame(answer));
        return;
      }
      case 12:
        this.#isServerProved = this.#scram?.accepts(rest) ?? false;
        if (!this.#isServerProved) this.#impostor();
        return;
      default:
        this.#refuse(this.#refusal("asks for a kind of authentication that we do not have"));
    }
  }

  #beginScram(mechanisms: readonly string[]): void {
    if (!mechanisms.includes(scramMechanism)) {
      this.#refuse(this.#refusal(`does not offer ${scramMechanism}`));
      return;
    }
    this.#send((password) => {
      this.#scram = createScramClient(password, randomSecret());
      return saslInitialFrame(scramMechanism, this.#scram.first);
    });
  }

  #send(frameOf: (password: string) => Buffer): void {
    const { password } = this.#address;
    if (password === undefined) this.#refuse(this.#refusal("asks for a password"));
    else this.#wire?.write(frameOf(password));
  }

  #impostor(): void {
    this.#refuse(this.#refusal("did not prove that it knows the password"));
  }

  #refusal(why: string): OperatingError {
    return new OperatingError("target_refused", "never", `${postgresPlace(this.#address)} ${why}`, {
      hint: "user and password belong in the target's URL",
    });
  }

  #refuse(error: OperatingError): void {
    this.#ready.reject(error);
    this.#wire?.destroy();
  }
}

function md5Answer(user: string, password: string, salt: Buffer): string {
  const inner = createHash("md5").update(`${password}${user}`).digest("hex");
  return `md5${createHash("md5").update(inner).update(salt).digest("hex")}`;
}

/** A full or a starting server may let us in later. */
function refusalOf(address: PostgresAddress, { code, message }: ServerError): OperatingError {
  const kind = failureKindOf(code);
  const text = `${postgresPlace(address)} refuses us: ${message} (${code})`;
  const isPassing = kind === "connection" || kind === "resources";
  return new OperatingError("target_refused", isPassing ? "backoff" : "never", text, {
    ...(kind === "permission" ? { hint: "check user and password in the target's URL" } : {}),
  });
}
