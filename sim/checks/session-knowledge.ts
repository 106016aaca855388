/**
 * What each controller can know about each worker, from the frames that reached it. The
 * controllers' own view is under test, so it is not used. Checks I3, I10 and I11.
 */
import type {
  Admission,
  ControllerFrame,
  Envelope,
  WorkerFrame,
} from "../../src/ground/cluster/core/index.ts";
import type { WorkCommand, WorkReport } from "../../src/ground/work/core/index.ts";
import { decodeCommand, decodeReport } from "../../src/ground/work/wire/codec.ts";
import { workChannel } from "../../src/ground/work/wire/work-channel.ts";
import type { Life } from "../engine/life.ts";
import type { NetworkProbe } from "../world/network.ts";
import type { Counters } from "./counters.ts";
import type { Verdict } from "./verdict.ts";

type AnyFrame = ControllerFrame | WorkerFrame;
type Hello = Extract<ControllerFrame, { kind: "hello" }>;
type Assignment = Extract<WorkCommand, { kind: "assignWork" }>;

interface Knowledge {
  /** When the session was welcomed. */
  sinceMs: number;
  lastAnswerMs: number;
  /** When the worker last reported its admission. */
  admissionMs: number;
  incarnation: string;
  epoch: number;
  admission: Admission;
}

interface WorkerSide {
  newestLease: number;
  /** The last unanswered hello of each controller. */
  readonly hellos: Map<string, Hello>;
}

/** Three heartbeats, and the deadline of the last less the round trip: see session-timing.ts. */
export function detectionMsMaxOf(heartbeatMs: number): number {
  return 3 * heartbeatMs + 500;
}

/** Covers clock drift and the precision of timers. */
export const clockSlackMs = 50;

export class SessionKnowledge implements NetworkProbe {
  readonly #verdict: Verdict;
  readonly #counters: Counters;
  readonly #nowMs: () => number;
  readonly #detectionMsMax: number;
  readonly #byController = new Map<Life, Map<string, Knowledge>>();
  readonly #byWorker = new Map<Life, WorkerSide>();
  /** The last hello that each controller sent to each worker. */
  readonly #sentHellos = new Map<Life, Map<string, Hello>>();
  #staleReceiver: Life | undefined;
  #staleKind = "";
  /** Called with work commands, after the checks. */
  onAssigned: (from: Life, to: string, command: Assignment) => void = () => undefined;
  /** Called with a coordinator's heartbeat and the lease of its session's hello. */
  onHeartbeat: (from: Life, leaseEpoch: number) => void = () => undefined;
  /** Called when a worker has welcomed a controller. */
  onWelcomed: (worker: Life) => void = () => undefined;

  constructor(verdict: Verdict, counters: Counters, nowMs: () => number, detectionMsMax: number) {
    this.#detectionMsMax = detectionMsMax;
    this.#verdict = verdict;
    this.#counters = counters;
    this.#nowMs = nowMs;
  }

  /** Undefined when the worker has not answered this life yet. */
  of(controller: Life, workerName: string): Readonly<Knowledge> | undefined {
    return this.#byController.get(controller)?.get(workerName);
  }

  eventEnded(): void {
    this.#staleReceiver = undefined;
  }

  /** `life` did something visible. */
  acted(life: Life, what: string): void {
    if (this.#staleReceiver !== life) return;
    this.#verdict.fail("I10", `${life.name} ${what} because of a stale ${this.#staleKind}`);
  }

  lifeEnded(life: Life): void {
    this.#byController.delete(life);
    this.#byWorker.delete(life);
    this.#sentHellos.delete(life);
  }

  frameSent(from: Life, to: string, { frame }: Envelope<AnyFrame>): void {
    const said = this.#messageOf(from, to, frame);
    this.acted(from, `sent ${said.kind}`);
    switch (said.kind) {
      case "hello":
        this.#rememberHello(from, to, said);
        break;
      case "heartbeat": {
        const hello = this.#sentHellos.get(from)?.get(to);
        if (hello?.role === "coordinator") this.onHeartbeat(from, hello.leaseEpoch);
        break;
      }
      case "assignWork":
        this.#checkPlacement(from, to);
        this.onAssigned(from, to, said);
        break;
      case "welcome":
        this.#checkWelcome(from, to);
        this.onWelcomed(from);
        break;
      case "refused":
        this.#counters.add(`refused ${said.reason}`);
        break;
      case "workRejected":
        this.#counters.add(`rejected ${said.reason}`);
        break;
      case "goodbye":
        this.#counters.add(`goodbye ${said.reason}`);
        break;
      default:
    }
  }

  frameDelivered(
    from: string,
    to: Life,
    { epoch, frame }: Envelope<AnyFrame>,
    isStale: boolean,
  ): void {
    if (isStale) {
      this.#counters.add("stale frame delivered");
      this.#staleReceiver = to;
      this.#staleKind = frame.kind;
      return;
    }
    switch (frame.kind) {
      case "hello":
        this.#workerSide(to).hellos.set(from, frame);
        break;
      case "welcome":
        this.#controllerSide(to).set(from, {
          sinceMs: this.#nowMs(),
          lastAnswerMs: this.#nowMs(),
          admissionMs: this.#nowMs(),
          incarnation: frame.incarnation,
          epoch,
          admission: frame.admission,
        });
        break;
      case "heartbeatAnswer": {
        const known = this.of(to, from) as Knowledge | undefined;
        if (known !== undefined && known.epoch === epoch) known.lastAnswerMs = this.#nowMs();
        break;
      }
      case "admission": {
        const known = this.of(to, from) as Knowledge | undefined;
        if (known === undefined || known.epoch !== epoch) break;
        known.admission = frame.admission;
        known.admissionMs = this.#nowMs();
        break;
      }
      default:
    }
  }

  /** The decoded message of a work frame, or the frame itself. */
  #messageOf(from: Life, to: string, frame: AnyFrame): AnyFrame | WorkCommand | WorkReport {
    if (frame.kind !== "channel" || frame.channel !== workChannel.name) return frame;
    const isController = this.#sentHellos.get(from)?.has(to) === true;
    return isController ? decodeCommand(frame.payload) : decodeReport(frame.payload);
  }

  #rememberHello(from: Life, to: string, hello: Hello): void {
    const sent = this.#sentHellos.get(from);
    if (sent === undefined) this.#sentHellos.set(from, new Map([[to, hello]]));
    else sent.set(to, hello);
  }

  #checkPlacement(from: Life, to: string): void {
    const known = this.of(from, to);
    if (known === undefined) {
      this.#verdict.fail("I3", `${from.name} sent work to ${to}, which never answered it`);
      return;
    }
    // A process that was paused first has to find out; its first moments do not count.
    const sinceMs = Math.max(known.lastAnswerMs, from.runningSinceMs);
    const silentMs = this.#nowMs() - sinceMs;
    this.#verdict.require(silentMs <= this.#detectionMsMax + clockSlackMs, "I3", () => {
      return `${from.name} sent work to ${to}, silent for ${Math.round(silentMs)} ms`;
    });
    const { accepting, draining } = known.admission;
    this.#verdict.require(accepting && !draining, "I3", () => {
      return `${from.name} sent work to ${to}, which ${draining ? "drains" : "accepts none"}`;
    });
  }

  #checkWelcome(from: Life, to: string): void {
    const side = this.#workerSide(from);
    const hello = side.hellos.get(to);
    if (hello === undefined) {
      this.#verdict.fail("I10", `${from.name} welcomed ${to} without a hello`);
      return;
    }
    if (hello.role !== "coordinator") return;
    this.#verdict.require(hello.leaseEpoch >= side.newestLease, "I11", () => {
      return `${from.name} welcomed ${to} with lease ${hello.leaseEpoch} after ${side.newestLease}`;
    });
    side.newestLease = Math.max(side.newestLease, hello.leaseEpoch);
  }

  #controllerSide(life: Life): Map<string, Knowledge> {
    let side = this.#byController.get(life);
    if (side === undefined) {
      side = new Map();
      this.#byController.set(life, side);
    }
    return side;
  }

  #workerSide(life: Life): WorkerSide {
    let side = this.#byWorker.get(life);
    if (side === undefined) {
      side = { newestLease: 0, hellos: new Map() };
      this.#byWorker.set(life, side);
    }
    return side;
  }
}
