/**
 * Links within one process, for tests. Frames take `latencyMs`. An address can be silenced (frames
 * vanish, the link stays) and its links cut.
 */
import type { Clock } from "../../../kernel/clock.ts";
import type { ControllerFrame, Envelope, WorkerFrame } from "../frames.ts";
import type { AcceptLink, Dialer, Link, LinkHandlers, WorkerAddress } from "../link.ts";

/** What one end of a link remembers. */
interface End<In> {
  handlers: LinkHandlers<In> | undefined;
  closed: boolean;
}

interface Connection {
  readonly port: number;
  cut(reason: string): void;
}

export class MemoryNetwork implements Dialer {
  latencyMs = 1;
  dials = 0;
  readonly #clock: Clock;
  readonly #listening = new Map<number, AcceptLink>();
  readonly #silent = new Set<number>();
  readonly #connections = new Set<Connection>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  listen(port: number, accept: AcceptLink): WorkerAddress {
    this.#listening.set(port, accept);
    return { host: "memory", grpcPort: port };
  }

  /** From now on nobody answers there, and its links are lost. */
  kill(port: number): void {
    this.#listening.delete(port);
    this.cut(port, "connection lost");
  }

  cut(port: number, reason: string): void {
    for (const connection of [...this.#connections]) {
      if (connection.port === port) connection.cut(reason);
    }
  }

  /** Frames to and from `port` vanish, but its links stay open. */
  silence(port: number, silent = true): void {
    if (silent) this.#silent.add(port);
    else this.#silent.delete(port);
  }

  dial(
    address: WorkerAddress,
    handlers: LinkHandlers<Envelope<WorkerFrame>>,
  ): Link<Envelope<ControllerFrame>> {
    this.dials += 1;
    const port = address.grpcPort;
    const near: End<Envelope<WorkerFrame>> = { handlers, closed: false };
    const far: End<Envelope<ControllerFrame>> = { handlers: undefined, closed: false };
    const connection: Connection = {
      port,
      cut: (reason) => {
        this.#connections.delete(connection);
        this.#close(near, reason);
        this.#close(far, reason);
      },
    };
    const accept = this.#listening.get(port);
    if (accept === undefined) {
      this.#clock.after(this.latencyMs, () => this.#close(near, "connection refused"));
    } else {
      this.#connections.add(connection);
      far.handlers = accept(this.#link(port, far, near, connection));
    }
    return this.#link(port, near, far, connection);
  }

  /** The link from the owner of `own` to `other`. */
  #link<In, Out>(port: number, own: End<In>, other: End<Out>, connection: Connection): Link<Out> {
    return {
      send: (frame) => {
        if (own.closed) return false;
        if (this.#silent.has(port)) return true;
        this.#clock.after(this.latencyMs, () => {
          if (!other.closed && !this.#silent.has(port)) other.handlers?.onFrame(frame);
        });
        return true;
      },
      close: (reason) => {
        if (own.closed) return;
        this.#connections.delete(connection);
        this.#close(own, reason);
        // Sent through the same pipe as the frames, so that it arrives after them.
        if (!this.#silent.has(port)) {
          this.#clock.after(this.latencyMs, () => this.#close(other, reason));
        }
      },
    };
  }

  #close<In>(end: End<In>, reason: string): void {
    if (end.closed) return;
    end.closed = true;
    this.#clock.after(0, () => end.handlers?.onClose(reason));
  }
}
