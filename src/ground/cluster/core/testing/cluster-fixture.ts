/** A pool, workers and a network between them, in virtual time. */

import type { ControllerId, Incarnation, LeaseEpoch, WorkerId } from "../../../kernel/ids.ts";
import { type LogFields, type Logger, silentLogger } from "../../../kernel/logger.ts";
import { createPrng } from "../../../kernel/prng.ts";
import { VirtualClock } from "../../../kernel/testing/virtual-clock.ts";
import type { ControllerRole } from "../frames.ts";
import type { WorkerAddress } from "../link.ts";
import type { DisconnectCause, SessionObserver } from "../session-observer.ts";
import { SessionPool, type SessionPoolOptions } from "../session-pool.ts";
import { WorkerEndpoint, type WorkerEndpointOptions } from "../worker-endpoint.ts";
import { MemoryNetwork } from "./memory-network.ts";
import { RecordingChannel, spoken } from "./recording-listener.ts";

export const workerId = (name: string): WorkerId => name as WorkerId;

export interface FixtureWorker {
  readonly endpoint: WorkerEndpoint;
  readonly handler: RecordingChannel;
  readonly address: WorkerAddress;
  readonly port: number;
}

export class ClusterFixture {
  readonly clock = new VirtualClock();
  readonly network = new MemoryNetwork(this.clock);
  #port = 7000;
  #controllers = 0;

  worker(name: string, options: Partial<WorkerEndpointOptions> = {}): FixtureWorker {
    this.#port += 1;
    return this.workerAt(this.#port, name, options);
  }

  workerAt(
    port: number,
    name: string,
    options: Partial<WorkerEndpointOptions> = {},
  ): FixtureWorker {
    const handler = new RecordingChannel();
    const endpoint = new WorkerEndpoint({
      clock: this.clock,
      workerId: workerId(name),
      incarnation: `${name}-${port}` as Incarnation,
      dataUrl: () => `http://memory:${port + 1000}`,
      capacity: 4,
      softwareVersion: "test",
      channels: [handler],
      logger: silentLogger,
      ...options,
    });
    return { endpoint, handler, address: this.network.listen(port, endpoint.accept), port };
  }

  pool(
    role: ControllerRole = "coordinator",
    options: Partial<SessionPoolOptions> = {},
  ): SessionPool {
    this.#controllers += 1;
    return new SessionPool({
      clock: this.clock,
      prng: createPrng(this.#controllers),
      dialer: this.network,
      controllerId: `controller-${this.#controllers}` as ControllerId,
      role,
      leaseEpoch: () => (role === "coordinator" ? 1 : 0) as LeaseEpoch,
      channels: [spoken],
      logger: silentLogger,
      ...options,
    });
  }
}

/** Remembers the messages of warnings and errors. */
export function recordingLogger(lines: string[]): Logger {
  const record = (fields: LogFields, message: string): void => {
    lines.push(`${message}${fields.reason === undefined ? "" : `: ${fields.reason}`}`);
  };
  const logger: Logger = { ...silentLogger, warn: record, error: record, with: () => logger };
  return logger;
}

export class RecordingObserver implements SessionObserver {
  active = 0;
  misses = 0;
  readonly rttsMs: number[] = [];
  readonly reconnectsMs: (number | undefined)[] = [];
  readonly downs: DisconnectCause[] = [];
  readonly failedDials: DisconnectCause[] = [];

  streamsActive(count: number): void {
    this.active = count;
  }
  heartbeatAnswered(_workerId: WorkerId, rttMs: number): void {
    this.rttsMs.push(rttMs);
  }
  heartbeatMissed(): void {
    this.misses += 1;
  }
  sessionUp(_workerId: WorkerId, reconnectMs: number | undefined): void {
    this.reconnectsMs.push(reconnectMs);
  }
  sessionDown(_workerId: WorkerId, cause: DisconnectCause): void {
    this.downs.push(cause);
  }
  dialFailed(cause: DisconnectCause): void {
    this.failedDials.push(cause);
  }
}
