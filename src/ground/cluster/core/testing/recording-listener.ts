/** Fakes for the channel `spoken` that record each call as one line. */
import type { ChannelFrame } from "../frames.ts";
import type { ChannelOffer } from "../versions.ts";
import type { WorkerChannel } from "../worker-endpoint.ts";
import type { WorkerListener } from "../worker-pool.ts";

export const spoken: ChannelOffer = { name: "spoken", oldest: 1, newest: 1 };

export function payloadOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

export function spokenFrame(text: string): ChannelFrame {
  return { kind: "channel", channel: spoken.name, payload: payloadOf(text) };
}

export class RecordingListener implements WorkerListener {
  readonly channel: string;
  readonly lines: string[] = [];

  constructor(channel: string = spoken.name) {
    this.channel = channel;
  }

  workerUp(...[up]: Parameters<NonNullable<WorkerListener["workerUp"]>>): void {
    this.lines.push(`up ${up.workerId} ${up.incarnation}`);
  }
  workerAdmission(
    ...[id, admission]: Parameters<NonNullable<WorkerListener["workerAdmission"]>>
  ): void {
    const { accepting, draining } = admission;
    this.lines.push(`admission ${id} accepting=${accepting} draining=${draining}`);
  }
  workerFrame(...[id, payload]: Parameters<NonNullable<WorkerListener["workerFrame"]>>): void {
    this.lines.push(`frame ${id} ${new TextDecoder().decode(payload)}`);
  }
  workerDown(...[id, reason]: Parameters<NonNullable<WorkerListener["workerDown"]>>): void {
    this.lines.push(`down ${id} ${reason}`);
  }

  /** The lines since the last call. */
  take(): string[] {
    return this.lines.splice(0);
  }
}

export class RecordingChannel implements WorkerChannel {
  readonly name: string;
  readonly oldest = spoken.oldest;
  readonly newest = spoken.newest;
  readonly lines: string[] = [];

  constructor(name: string = spoken.name) {
    this.name = name;
  }

  receive(session: string, payload: Uint8Array): void {
    this.lines.push(`frame ${session} ${new TextDecoder().decode(payload)}`);
  }
  sessionLost(session: string): void {
    this.lines.push(`lost ${session}`);
  }

  take(): string[] {
    return this.lines.splice(0);
  }
}
