-- Tessera tools in Neovim 0.8 or later, without other plugins:
--
--   vim.opt.runtimepath:append("…/editors/neovim")
--   require("tessera").setup({ settings = { gpu = "sm_100a" } })
--
-- In MLIR files: errors, hover, definitions, references, rename, completion, code lenses and inlay hints by
-- tessera-lsp, and the commands
--
--   :TesseraRunLine        run the RUN line at the cursor, or at the next line that has one
--   :TesseraStage [stage]  show a stage of the program: next (the default), a stage of IR, llvmir or ptx

local M = {}

local STAGES = { "next", "nv_tileaa", "nv_tileas", "llvm", "llvmir", "ptx" }

local defaults = {
  cmd = { "tessera-lsp" },
  filetypes = { "mlir" }, -- with "python", Python files are checked, too
  settings = {}, -- docs/editors.md lists them
}

--- The window of a buffer that shows a result; a new one beside the current window otherwise.
local function window_of(buffer)
  local window = vim.fn.bufwinid(buffer)
  if window ~= -1 then
    return window
  end
  local before = vim.api.nvim_get_current_win()
  vim.cmd("rightbelow vsplit")
  window = vim.api.nvim_get_current_win()
  vim.api.nvim_win_set_buf(window, buffer)
  vim.api.nvim_set_current_win(before)
  return window
end

--- Show what a command of the server returns: { title, text, language }. Returns the buffer.
local function show(result)
  local name = "tessera://" .. result.title:gsub(" %(.-%)$", "")
  local buffer = vim.fn.bufnr("^" .. vim.fn.escape(name, "\\*?[{,") .. "$")
  if buffer == -1 then
    buffer = vim.api.nvim_create_buf(false, true)
    vim.api.nvim_buf_set_name(buffer, name)
    vim.bo[buffer].bufhidden = "wipe"
  end
  vim.bo[buffer].modifiable = true
  vim.api.nvim_buf_set_lines(buffer, 0, -1, true, vim.split(result.text, "\n", { trimempty = true }))
  vim.bo[buffer].modifiable = false
  vim.bo[buffer].filetype = result.language
  window_of(buffer)
  if (result.status or 0) ~= 0 then
    vim.notify(result.title, vim.log.levels.ERROR)
  end
  return buffer
end

--- Send a command to the server, and show its result. Failures are messages of the server.
local function execute(client, command, argument)
  local params = { command = command, arguments = { argument } }
  local function answered(failure, result)
    if failure then
      vim.notify(failure.message, vim.log.levels.ERROR)
    elseif type(result) == "table" and result.text then
      show(result)
    end
  end
  if vim.fn.has("nvim-0.11") == 1 then
    client:request("workspace/executeCommand", params, answered)
  else
    client.request("workspace/executeCommand", params, answered)
  end
end

local function client_of(buffer)
  local list = vim.lsp.get_clients or vim.lsp.get_active_clients
  return list({ bufnr = buffer, name = "tessera" })[1]
end

--- Run a command of the server about a line, counted from 0, of the current buffer.
local function at_line(command, line, more)
  local client = client_of(0)
  if client == nil then
    vim.notify("tessera-lsp does not serve this buffer", vim.log.levels.ERROR)
    return
  end
  local place = { uri = vim.uri_from_bufnr(0), line = line }
  execute(client, command, vim.tbl_extend("force", place, more or {}))
end

--- Run the RUN line at the cursor, otherwise the first one after it, otherwise the first one.
function M.run_line()
  local lines = vim.api.nvim_buf_get_lines(0, 0, -1, true)
  local cursor = vim.api.nvim_win_get_cursor(0)[1]
  local first
  for number, text in ipairs(lines) do
    if text:match("^%s*//%s*RUN:") then
      first = first or number
      if number >= cursor then
        first = number
        break
      end
    end
  end
  if first == nil then
    vim.notify("the buffer has no RUN line", vim.log.levels.ERROR)
    return
  end
  at_line("tessera.runLine", first - 1)
end

--- Show a stage of the program at the cursor.
function M.show_stage(stage)
  at_line("tessera.showStage", vim.api.nvim_win_get_cursor(0)[1] - 1, { stage = stage or "next" })
end

--- The command of a code lens.
local function lens(command, context)
  local client = vim.lsp.get_client_by_id(context.client_id)
  if client ~= nil then
    execute(client, command.command, command.arguments[1])
  end
end

local function prepare(buffer)
  vim.bo[buffer].commentstring = "// %s"
  vim.api.nvim_buf_create_user_command(buffer, "TesseraRunLine", M.run_line, {})
  vim.api.nvim_buf_create_user_command(buffer, "TesseraStage", function(arguments)
    M.show_stage(arguments.fargs[1])
  end, {
    nargs = "?",
    complete = function(typed)
      return vim.tbl_filter(function(stage)
        return vim.startswith(stage, typed)
      end, STAGES)
    end,
  })
end

--- Serve MLIR files. options: cmd, filetypes, settings; any other field is one of `:help vim.lsp.ClientConfig`.
function M.setup(options)
  options = vim.tbl_extend("force", defaults, options or {})
  vim.filetype.add({ extension = { mlir = "mlir" } })
  local config = vim.tbl_extend("force", {
    init_options = options.settings,
    root_markers = { ".git" },
    commands = { ["tessera.runLine"] = lens, ["tessera.showStage"] = lens },
  }, options)
  config.settings = { tessera = options.settings }

  local group = vim.api.nvim_create_augroup("tessera", {})
  vim.api.nvim_create_autocmd("FileType", {
    group = group,
    pattern = "mlir",
    callback = function(event)
      if vim.bo[event.buf].buftype == "" then
        prepare(event.buf)
      end
    end,
  })
  if vim.lsp.config and vim.lsp.enable then -- 0.11
    vim.lsp.config("tessera", config)
    vim.lsp.enable("tessera")
    return
  end
  config.name = "tessera"
  vim.api.nvim_create_autocmd("FileType", {
    group = group,
    pattern = config.filetypes,
    callback = function(event)
      if vim.bo[event.buf].buftype == "" then
        local folder = vim.fs.dirname(vim.api.nvim_buf_get_name(event.buf))
        local marker = vim.fs.find(config.root_markers, { path = folder, upward = true })[1]
        config.root_dir = marker and vim.fs.dirname(marker) or folder
        vim.lsp.start(config)
      end
    end,
  })
end

return M
