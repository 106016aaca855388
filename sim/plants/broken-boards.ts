/** Broken work assignment, on either side. */

import { type BoardEffect, type BoardEvent, WorkBoard } from "../../src/ground/work/core/index.ts";
import { WorkerWorkManager } from "../../src/ground/work/index.ts";

export class TwiceCommittingBoard extends WorkBoard {
  #count = 0;

  override step(event: BoardEvent): readonly BoardEffect[] {
    const effects = super.step(event);
    const committed = effects.find(({ kind }) => kind === "workCommitted");
    if (committed === undefined) return effects;
    this.#count += 1;
    return this.#count % 10 === 0 ? [committed, ...effects] : effects;
  }
}

/** Assigns work that lost its worker to the next one, but never sends it. */
export class ForgettingBoard extends WorkBoard {
  override step(event: BoardEvent): readonly BoardEffect[] {
    const effects = super.step(event);
    if (event.kind !== "workerDown") return effects;
    return effects.filter(
      (effect) => effect.kind !== "send" || effect.command.kind !== "assignWork",
    );
  }
}

/** Forgives every loss at once, so that no work ever looks poisonous. */
export class ForgivingBoard extends WorkBoard {
  override step(event: BoardEvent): readonly BoardEffect[] {
    if (event.kind !== "workerDown") return super.step(event);
    const worker = this.view().find(({ workerId }) => workerId === event.workerId);
    if (worker === undefined) return super.step(event);
    const { workerId, incarnation } = worker;
    const admission = { accepting: false, draining: true };
    return [
      ...super.step({ kind: "workerUp", workerId, incarnation, admission }),
      ...super.step(event),
    ];
  }
}

/** Does not notice that a session is over. */
export class LoyalManager extends WorkerWorkManager {
  override sessionLost(_session: string): void {}
}
