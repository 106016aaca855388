/** Templates: the users' own, and the built-in ones. */
import { ActionIcon, Button, Menu } from "@mantine/core";
import {
  IconCopy,
  IconDots,
  IconDownload,
  IconFileImport,
  IconFileText,
  IconPlayerPlay,
  IconTrash,
} from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";
import type { ListedTemplate } from "../../../api/gen/types.ts";
import { listTemplates } from "../../../api/load.ts";
import { Card } from "../../../components/card.tsx";
import { ConfirmDialog } from "../../../components/confirm-dialog.tsx";
import { type Column, DataTable, Waiting } from "../../../components/data-table.tsx";
import { Empty, NoMatch } from "../../../components/empty.tsx";
import { SearchField } from "../../../components/search-field.tsx";
import { useAddressView } from "../../../components/use-address-view.ts";
import { useRefusedToken } from "../../../components/use-refused-token.ts";
import { templateHref } from "../links.ts";
import "./templates.css";
import { ImportDialog } from "./import-dialog.tsx";
import { PrepareDialog } from "./prepare-dialog.tsx";
import { loadText, matchesTemplate, modeWords } from "./template-list.ts";
import { useCopyTemplate, useDeleteTemplate, useExportTemplate } from "./use-template-actions.ts";

export function TemplatesPage() {
  const { data, error } = useQuery({
    queryKey: ["load-templates"],
    queryFn: ({ signal }) => listTemplates(signal),
    retry: false,
  });
  useRefusedToken(error);
  const [view, setView] = useAddressView(viewOf, searchOf);
  const [isImporting, setImporting] = useState(false);
  return (
    <>
      <div className="load-bar">
        <SearchField
          label="Filter templates"
          placeholder="Filter by name, target, mode, operation…"
          value={view.text}
          onText={(text) => setView({ text })}
        />
        <Button
          variant="default"
          leftSection={<IconFileImport size={14} />}
          onClick={() => setImporting(true)}
        >
          Import YAML…
        </Button>
      </div>
      {data === undefined ? (
        <Waiting label="Templates" error={error} />
      ) : (
        <Templates templates={data} text={view.text} onText={(text) => setView({ text })} />
      )}
      <ImportDialog opened={isImporting} onClose={() => setImporting(false)} />
    </>
  );
}

interface TemplatesProps {
  readonly templates: readonly ListedTemplate[];
  readonly text: string;
  readonly onText: (text: string) => void;
}

function Templates({ templates, text, onText }: TemplatesProps) {
  const [deleting, setDeleting] = useState<ListedTemplate>();
  const [preparing, setPreparing] = useState<ListedTemplate>();
  const deletion = useDeleteTemplate();
  const found = templates.filter((each) => matchesTemplate(each, text));
  const own = found.filter((each) => !each.is_built_in);
  const ready = found.filter((each) => each.is_built_in);
  const hasOwn = templates.some((each) => !each.is_built_in);
  const act = { onDelete: setDeleting, onPrepare: setPreparing };
  if (found.length === 0 && text !== "") {
    return (
      <div className="card">
        <NoMatch what="template" count={templates.length} onAll={() => onText("")} />
      </div>
    );
  }
  return (
    <div className="load-stack">
      <Card title="Your templates" aside={hasOwn && <span className="dim">{own.length}</span>}>
        {own.length > 0 ? (
          <TemplatesTable label="Your templates" templates={own} {...act} />
        ) : (
          <Empty
            icon={IconFileText}
            title={hasOwn ? "None of your templates matches" : "You have no templates yet"}
          >
            {!hasOwn && <span>Copy a built-in template, or import YAML.</span>}
          </Empty>
        )}
      </Card>
      {ready.length > 0 && (
        <Card title="Built-in templates" aside={<span className="dim">{ready.length}</span>}>
          <TemplatesTable label="Built-in templates" templates={ready} {...act} />
        </Card>
      )}
      <ConfirmDialog
        question={
          deleting && {
            title: `Delete ${deleting.template_name}`,
            consequence: "The template cannot be restored. Its runs are kept.",
            verb: "Delete",
            destroys: true,
          }
        }
        isPending={deletion.isPending}
        onConfirm={() => {
          if (deleting) deletion.mutate(deleting, { onSettled: () => setDeleting(undefined) });
        }}
        onClose={() => setDeleting(undefined)}
      />
      <PrepareDialog template={preparing} onClose={() => setPreparing(undefined)} />
    </div>
  );
}

interface ActionProps {
  readonly onDelete: (template: ListedTemplate) => void;
  readonly onPrepare: (template: ListedTemplate) => void;
}

interface TemplatesTableProps extends ActionProps {
  readonly label: string;
  readonly templates: readonly ListedTemplate[];
}

function TemplatesTable({ label, templates, onDelete, onPrepare }: TemplatesTableProps) {
  const columns: readonly Column<ListedTemplate>[] = [
    {
      title: "Name",
      cell: (template) => (
        <>
          <Link to={templateHref(template.template_id)} className="row-link">
            {template.template_name}
          </Link>
          <div className="dim row-small template-description">{template.description}</div>
        </>
      ),
    },
    { title: "Target", className: "from-sm", cell: (template) => template.target_kind },
    {
      title: "Mode",
      className: "from-md nowrap",
      cell: (template) => modeWords[template.load_mode],
    },
    { title: "Load", className: "from-sm nowrap", cell: loadText },
    {
      title: "Operations",
      className: "from-lg num",
      cell: ({ operations }) => <span title={operations.join(", ")}>{operations.length}</span>,
    },
    {
      title: "Actions",
      isTitleHidden: true,
      className: "row-actions nowrap",
      cell: (template) => (
        <>
          <Button
            variant="default"
            size="compact-xs"
            leftSection={<IconPlayerPlay size={12} />}
            aria-label={`Prepare ${template.template_name}`}
            onClick={() => onPrepare(template)}
          >
            Prepare…
          </Button>
          <TemplateMenu template={template} onDelete={onDelete} />
        </>
      ),
    },
  ];
  return (
    <DataTable
      label={label}
      columns={columns}
      rows={templates}
      rowKey={({ template_id: id }) => id}
    />
  );
}

interface TemplateMenuProps {
  readonly template: ListedTemplate;
  readonly onDelete: (template: ListedTemplate) => void;
}

function TemplateMenu({ template, onDelete }: TemplateMenuProps) {
  const copying = useCopyTemplate();
  const exporting = useExportTemplate();
  return (
    <Menu position="bottom-end" width={210} transitionProps={{ duration: 80 }}>
      <Menu.Target>
        <ActionIcon
          variant="subtle"
          color="gray"
          size="sm"
          loading={copying.isPending}
          aria-label={`Actions for ${template.template_name}`}
        >
          <IconDots size={16} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item leftSection={<IconCopy size={15} />} onClick={() => copying.mutate(template)}>
          Copy
        </Menu.Item>
        <Menu.Item
          leftSection={<IconDownload size={15} />}
          onClick={() => exporting.mutate(template)}
        >
          Export YAML
        </Menu.Item>
        <Menu.Item
          leftSection={<IconTrash size={15} />}
          disabled={template.is_built_in}
          onClick={() => onDelete(template)}
        >
          {template.is_built_in ? "Delete (built-in)" : "Delete…"}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

function viewOf(search: URLSearchParams) {
  return { text: search.get("q") ?? "" };
}

function searchOf({ text }: ReturnType<typeof viewOf>): Record<string, string> {
  return text === "" ? {} : { q: text };
}
