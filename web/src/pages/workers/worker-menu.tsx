/** Actions on one worker. A disabled one says why. */
import { ActionIcon, Menu } from "@mantine/core";
import { IconDoorEnter, IconDoorExit, IconDots, IconTrash } from "@tabler/icons-react";
import type { Worker } from "../../api/gen/types.ts";
import { conditionOf } from "../../api/worker-condition.ts";
import type { PendingAction } from "./confirm-action.tsx";

interface WorkerMenuProps {
  readonly worker: Worker;
  readonly onAction: (action: PendingAction) => void;
}

export function WorkerMenu({ worker, onAction }: WorkerMenuProps) {
  const choose = (action: PendingAction["action"]) => (): void => onAction({ action, worker });
  const droppable = conditionOf(worker) !== "active";
  return (
    <Menu position="bottom-end" width={220} transitionProps={{ duration: 80 }}>
      <Menu.Target>
        <ActionIcon
          variant="subtle"
          color="gray"
          size="sm"
          aria-label={`Actions for ${worker.worker_id}`}
        >
          <IconDots size={16} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {worker.drain_requested ? (
          <Menu.Item leftSection={<IconDoorEnter size={15} />} onClick={choose("undrain")}>
            Take work again
          </Menu.Item>
        ) : (
          <Menu.Item leftSection={<IconDoorExit size={15} />} onClick={choose("drain")}>
            Drain…
          </Menu.Item>
        )}
        <Menu.Item
          leftSection={<IconTrash size={15} />}
          disabled={!droppable}
          onClick={choose("drop")}
        >
          {droppable ? "Drop…" : "Drop (drain it first)"}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
