/**
 * Actions on a dynamic table. Suspending and dropping ask first, because others may read the table.
 */
import { ActionIcon, Button, Group, Menu } from "@mantine/core";
import {
  IconDots,
  IconPlayerPause,
  IconPlayerPlay,
  IconRefresh,
  IconTrash,
} from "@tabler/icons-react";
import { useState } from "react";
import { useNavigate } from "react-router";
import type { DynamicTable } from "../../api/gen/types.ts";
import { useTableAction } from "../../components/actions.ts";
import { ConfirmDialog, type Question } from "../../components/confirm-dialog.tsx";

type Asked = "suspend" | "drop";

export function TableActions({ table }: { readonly table: DynamicTable }) {
  const mutation = useTableAction();
  const navigate = useNavigate();
  const [asked, setAsked] = useState<Asked>();
  const { name } = table;
  const stopped = table.status === "SUSPENDED" || table.status === "FAILED";
  const pending = mutation.isPending ? mutation.variables.action : undefined;
  const confirm = (action: Asked): void =>
    mutation.mutate(
      { action, table: name },
      {
        onSuccess: () => {
          if (action === "drop") void navigate("/tables");
        },
        onSettled: () => setAsked(undefined),
      },
    );
  return (
    <Group gap="xs" className="detail-actions">
      {stopped ? (
        <Button
          leftSection={<IconPlayerPlay size={14} />}
          loading={pending === "resume"}
          onClick={() => mutation.mutate({ action: "resume", table: name })}
        >
          Resume
        </Button>
      ) : (
        <Button
          leftSection={<IconRefresh size={14} />}
          loading={pending === "refresh"}
          onClick={() => mutation.mutate({ action: "refresh", table: name })}
        >
          Refresh now
        </Button>
      )}
      {!stopped && (
        <Button
          variant="default"
          leftSection={<IconPlayerPause size={14} />}
          onClick={() => setAsked("suspend")}
        >
          Suspend…
        </Button>
      )}
      <Menu position="bottom-end" withinPortal>
        <Menu.Target>
          <ActionIcon variant="default" size={30} aria-label={`More actions for ${name}`}>
            <IconDots size={16} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item
            color="red"
            leftSection={<IconTrash size={14} />}
            disabled={table.readers.length > 0}
            onClick={() => setAsked("drop")}
          >
            {table.readers.length > 0 ? "Drop (others read it)" : "Drop…"}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <ConfirmDialog
        question={asked && questionOf(asked, table)}
        isPending={mutation.isPending}
        onConfirm={() => {
          if (asked !== undefined) confirm(asked);
        }}
        onClose={() => setAsked(undefined)}
      />
    </Group>
  );
}

function questionOf(action: Asked, table: DynamicTable): Question {
  const verb = action === "drop" ? "Drop" : "Suspend";
  return {
    title: `${verb} ${table.name}`,
    consequence: consequence(action, table),
    verb,
    destroys: action === "drop",
  };
}

function consequence(action: Asked, { readers }: DynamicTable): string {
  if (action === "drop")
    return "Its definition, rows and refresh history are deleted. Its sources are kept.";
  const stays = "Its rows are kept, and are not refreshed until you resume it.";
  return readers.length === 0
    ? stays
    : `${stays} The same holds for the tables that read it: ${readers.join(", ")}.`;
}
