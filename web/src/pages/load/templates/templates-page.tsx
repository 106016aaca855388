/** Templates: people's own, and those that come with the product. */
import { ActionIcon, Button, Menu, Skeleton, TextInput } from "@mantine/core";
import {
  IconCopy,
  IconDatabaseOff,
  IconDots,
  IconDownload,
  IconFileImport,
  IconFileText,
  IconPlayerPlay,
  IconSearch,
  IconSearchOff,
  IconTrash,
} from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link, useSearchParams } from "react-router";
import type { ListedTemplate } from "../../../api/gen/types.ts";
import { ApiError } from "../../../api/http.ts";
import { listTemplates } from "../../../api/load.ts";
import { Card } from "../../../components/card.tsx";
import { ConfirmDialog } from "../../../components/confirm-dialog.tsx";
import { Empty } from "../../../components/empty.tsx";
import { templateHref } from "../links.ts";
import { useRefusedToken } from "../use-refused-token.ts";
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
  const [text, setText] = useSearchText();
  const [isImporting, setImporting] = useState(false);
  return (
    <>
      <div className="load-bar">
        <TextInput
          size="xs"
          aria-label="Filter templates"
          placeholder="Filter by name, target, mode, operation…"
          leftSection={<IconSearch size={14} />}
          data-main-field
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
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
        <div className="card">{error === null ? <Loading /> : <Unreadable error={error} />}</div>
      ) : (
        <Templates templates={data} text={text} onText={setText} />
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
        <Empty icon={IconSearchOff} title="No template matches">
          <button type="button" className="quiet" onClick={() => onText("")}>
            Show all {templates.length}
          </button>
        </Empty>
      </div>
    );
  }
  return (
    <div className="load-stack">
      <Card title="Yours" aside={hasOwn && <span className="dim">{own.length}</span>}>
        {own.length > 0 ? (
          <TemplatesTable label="Your templates" templates={own} {...act} />
        ) : (
          <Empty
            icon={IconFileText}
            title={hasOwn ? "No template of yours matches" : "No templates of yours yet"}
          >
            {!hasOwn && <span>Copy one of the ready ones, or import YAML.</span>}
          </Empty>
        )}
      </Card>
      {ready.length > 0 && (
        <Card title="Ready" aside={<span className="dim">{ready.length}</span>}>
          <TemplatesTable label="Ready templates" templates={ready} {...act} />
        </Card>
      )}
      <ConfirmDialog
        question={
          deleting && {
            title: `Delete ${deleting.template_name}`,
            consequence: "The template is gone for good. Runs that were made from it stay.",
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
  return (
    <div className="table-scroll">
      <table className="table templates" aria-label={label}>
        <thead>
          <tr>
            <th>Name</th>
            <th className="from-sm">Target</th>
            <th className="from-md">Mode</th>
            <th className="from-sm">Load</th>
            <th className="from-lg num">Operations</th>
            <th aria-label="Actions" />
          </tr>
        </thead>
        <tbody>
          {templates.map((template) => (
            <tr key={template.template_id} className="template-line">
              <td>
                <Link to={templateHref(template.template_id)} className="template-name">
                  {template.template_name}
                </Link>
                <div className="dim template-description">{template.description}</div>
              </td>
              <td className="from-sm">{template.target_kind}</td>
              <td className="from-md nowrap">{modeWords[template.load_mode]}</td>
              <td className="from-sm nowrap">{loadText(template)}</td>
              <td className="from-lg num" title={template.operations.join(", ")}>
                {template.operations.length}
              </td>
              <td className="template-actions">
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
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
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
          {template.is_built_in ? "Delete (comes with Capstan)" : "Delete…"}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

function Loading() {
  return (
    <div className="load-loading" role="status" aria-label="Loading templates">
      <Skeleton height={26} />
      <Skeleton height={26} />
      <Skeleton height={26} />
    </div>
  );
}

function Unreadable({ error }: { readonly error: Error }) {
  const hint = error instanceof ApiError ? error.hint : undefined;
  return (
    <div role="alert">
      <Empty icon={IconDatabaseOff} title="The templates cannot be read">
        <span>{error.message}</span>
        {hint !== undefined && <span>{hint}</span>}
      </Empty>
    </div>
  );
}

/** In the address, so that it can be kept; the field shows a copy, since the router is a moment later. */
function useSearchText(): readonly [string, (text: string) => void] {
  const [search, setSearch] = useSearchParams();
  const [text, setText] = useState(search.get("q") ?? "");
  const change = (next: string): void => {
    setText(next);
    setSearch(next === "" ? {} : { q: next }, { replace: true });
  };
  return [text, change];
}
