/** Nothing happens to a worker before somebody has read what it means. */
import { Button, Group, Modal, Text } from "@mantine/core";
import { useState } from "react";
import type { Worker } from "../../api/types.ts";
import { useWorkerAction, type WorkerAction } from "../../components/actions.ts";
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
  // The text stays while the dialog fades out.
  const [shown, setShown] = useState(pending);
  if (pending !== undefined && pending !== shown) setShown(pending);
  if (shown === undefined) return null;
  const { action, worker } = shown;
  const confirm = (): void =>
    mutation.mutate({ action, workerId: worker.worker_id }, { onSettled: onClose });
  return (
    <Modal
      opened={pending !== undefined}
      onClose={onClose}
      title={`${verbs[action]} ${worker.worker_id}`}
      size="sm"
    >
      <Text size="sm">{consequence(action, worker)}</Text>
      <Group justify="flex-end" mt="lg" gap="xs">
        <Button variant="default" onClick={onClose}>
          Keep it as it is
        </Button>
        <Button
          data-autofocus
          loading={mutation.isPending}
          onClick={confirm}
          {...(action === "drop" && { color: "red.8" })}
        >
          {action === "undrain" ? "Take work again" : verbs[action]}
        </Button>
      </Group>
    </Modal>
  );
}

function consequence(action: WorkerAction, worker: Worker): string {
  const running = factNumber(worker.live?.facts, "running_work") ?? 0;
  switch (action) {
    case "drain":
      return running === 0
        ? "It takes no new work until you let it again. It is running nothing now."
        : `It takes no new work, and finishes the ${plural(running, "item")} it is running.`;
    case "undrain":
      return "It is put back into the rotation, and gets its share of new work.";
    case "drop":
      return "It leaves the cluster, and what it still has is done elsewhere. A worker process that is still running may register again.";
  }
}
