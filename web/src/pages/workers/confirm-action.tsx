/** Asks before an action on a worker, and explains what it means. */
import type { Worker } from "../../api/gen/types.ts";
import { useWorkerAction, type WorkerAction } from "../../components/actions.ts";
import { ConfirmDialog, type Question } from "../../components/confirm-dialog.tsx";
import { factNumber, plural } from "../../format.ts";

export interface PendingAction {
  readonly action: WorkerAction;
  readonly worker: Worker;
}

const verbs: Readonly<Record<WorkerAction, string>> = {
  drain: "Drain",
  undrain: "Take work again:",
  drop: "Drop",
};

interface ConfirmActionProps {
  readonly pending: PendingAction | undefined;
  readonly onClose: () => void;
}

export function ConfirmAction({ pending, onClose }: ConfirmActionProps) {
  const mutation = useWorkerAction();
  const confirm = (): void => {
    if (pending === undefined) return;
    const { action, worker } = pending;
    mutation.mutate({ action, workerId: worker.worker_id }, { onSettled: onClose });
  };
  return (
    <ConfirmDialog
      question={pending && questionOf(pending)}
      isPending={mutation.isPending}
      onConfirm={confirm}
      onClose={onClose}
    />
  );
}

function questionOf({ action, worker }: PendingAction): Question {
  return {
    title: `${verbs[action]} ${worker.worker_id}`,
    consequence: consequence(action, worker),
    verb: action === "undrain" ? "Take work again" : verbs[action],
    destroys: action === "drop",
  };
}

function consequence(action: WorkerAction, worker: Worker): string {
  const running = factNumber(worker.live?.facts, "running_work") ?? 0;
  switch (action) {
    case "drain":
      return running === 0
        ? "It takes no new work until you undo this. It is running nothing now."
        : `It takes no new work, and finishes the ${plural(running, "item")} it is running.`;
    case "undrain":
      return "It is given new work again.";
    case "drop":
      return "It is removed from the cluster, and other workers take over its work. A worker process that is still running may register again.";
  }
}
