/** Broken control sessions, on either side. */
import type {
  AcceptLink,
  Admission,
  ControllerFrame,
  Envelope,
  SessionView,
  WorkerListener,
} from "../../src/ground/cluster/core/index.ts";
import {
  defaultSessionTiming,
  type EndpointSession,
  SessionPool,
  type SessionPoolOptions,
  WorkerEndpoint,
  type WorkerEndpointOptions,
} from "../../src/ground/cluster/index.ts";
import type { LeaseEpoch, WorkerId } from "../../src/ground/kernel/ids.ts";

/** Hands every frame on as if it were of the session that the link was opened for. */
export function acceptAnyEpoch(accept: AcceptLink): AcceptLink {
  return (link) => {
    const handlers = accept(link);
    let epoch: Envelope<ControllerFrame>["epoch"] | undefined;
    return {
      onFrame: (envelope) => {
        epoch ??= envelope.epoch;
        handlers.onFrame({ ...envelope, epoch });
      },
      onClose: (reason) => handlers.onClose(reason),
    };
  };
}

/** Lets every coordinator in, however old its lease. */
export function acceptAnyLease(accept: AcceptLink): AcceptLink {
  let newest = 1_000_000;
  return (link) => {
    const handlers = accept(link);
    return {
      onFrame: ({ epoch, frame }) => {
        newest += 1;
        const isCoordinator = frame.kind === "hello" && frame.role === "coordinator";
        const heard = isCoordinator ? { ...frame, leaseEpoch: newest as LeaseEpoch } : frame;
        handlers.onFrame({ epoch, frame: heard });
      },
      onClose: (reason) => handlers.onClose(reason),
    };
  };
}

/** Shows a worker that was once live as live for ever. */
export class FlatteringPool extends SessionPool {
  readonly #lastLive = new Map<WorkerId, SessionView>();

  override view(workerId: WorkerId): SessionView | undefined {
    const view = super.view(workerId);
    if (view?.live !== undefined) this.#lastLive.set(workerId, view);
    return view === undefined ? undefined : (this.#lastLive.get(workerId) ?? view);
  }

  override views(): readonly SessionView[] {
    return super.views().map((view) => {
      return view.workerId === undefined ? view : (this.view(view.workerId) ?? view);
    });
  }
}

/** Changes what the manager of work hears about workers. */
function poolHearing(change: (listener: WorkerListener) => WorkerListener): typeof SessionPool {
  return class extends SessionPool {
    override listen(listener: WorkerListener): () => void {
      return super.listen(change(listener));
    }
  };
}

const nobody: EndpointSession = {
  key: "",
  controllerId: "nobody" as EndpointSession["controllerId"],
  role: "coordinator",
  epoch: 1 as EndpointSession["epoch"],
  leaseEpoch: 1 as LeaseEpoch,
  channels: new Map(),
  openedMs: 0,
  lastFrameMs: 0,
};
const openAdmission: Admission = { accepting: true, draining: false };

/** Accepts an operator's wish to drain, and ignores it. */
export class WishDeafPool extends SessionPool {
  override setDraining(): void {}
}

/** Never reports a change. */
export class SilentPool extends SessionPool {
  override onChange(): () => void {
    return () => undefined;
  }
}

export class PatientPool extends SessionPool {
  constructor(options: SessionPoolOptions) {
    super({ ...options, timing: { ...(options.timing ?? defaultSessionTiming), missesMax: 8 } });
  }
}

export class PatientEndpoint extends WorkerEndpoint {
  constructor(options: WorkerEndpointOptions) {
    super({ ...options, timing: { ...defaultSessionTiming, controllerSilenceMsMax: 60_000 } });
  }
}

/** Thinks that a coordinator is always there, so that it never registers a second time. */
export class ContentEndpoint extends WorkerEndpoint {
  override sessions(): readonly EndpointSession[] {
    const [any] = super.sessions();
    return any === undefined ? [{ ...nobody }] : [{ ...any, role: "coordinator" }];
  }
}

/** Work stays with a worker that was lost. */
export const LossDeafPool = poolHearing((listener) => ({
  ...listener,
  workerDown: () => undefined,
}));

/** Every worker always takes work. */
export const AdmissionDeafPool = poolHearing((listener) => ({
  ...listener,
  workerUp: (up) => listener.workerUp?.({ ...up, admission: openAdmission }),
  workerAdmission: (workerId) => listener.workerAdmission?.(workerId, openAdmission),
}));
