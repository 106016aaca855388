/** Sessions without a network, between managers of one process. */
import type { Incarnation, WorkerId } from "../../kernel/ids.ts";
import type { WorkCommand, WorkReport } from "../core/assignment/index.ts";
import type { WorkerWorkManager, WorkPool, WorkPoolEvent, WorkReporter } from "../core/index.ts";

const session = "session";

export class LoopbackPool implements WorkPool {
  readonly #workers = new Map<WorkerId, WorkerWorkManager>();
  #listener: ((event: WorkPoolEvent) => void) | undefined;

  listen(listener: (event: WorkPoolEvent) => void): () => void {
    this.#listener = listener;
    return () => {
      this.#listener = undefined;
    };
  }

  send(workerId: WorkerId, command: WorkCommand): boolean {
    const manager = this.#workers.get(workerId);
    if (manager === undefined) return false;
    queueMicrotask(() => manager.obey(session, command));
    return true;
  }

  connect(workerId: WorkerId, manager: WorkerWorkManager): void {
    this.#workers.set(workerId, manager);
    this.#listener?.({
      kind: "workerUp",
      workerId,
      incarnation: "i-1" as Incarnation,
      admission: { accepting: true, draining: false },
    });
  }

  /** Acts like a broken stream: both sides learn of it. */
  disconnect(workerId: WorkerId): void {
    const manager = this.#workers.get(workerId);
    this.#workers.delete(workerId);
    manager?.sessionLost(session);
    this.#listener?.({ kind: "workerDown", workerId });
  }

  reporterOf(workerId: WorkerId): WorkReporter {
    return {
      report: (_session: string, report: WorkReport) => {
        queueMicrotask(() => this.#listener?.({ kind: "report", workerId, report }));
        return this.#workers.has(workerId);
      },
      setAdmission: (admission) => {
        queueMicrotask(() => this.#listener?.({ kind: "workerAdmission", workerId, admission }));
      },
    };
  }
}
