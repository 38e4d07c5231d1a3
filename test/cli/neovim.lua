-- A session in Neovim; prints what its user sees as JSON. Run by test_neovim.py:
--   nvim --clean --headless -l neovim.lua PLUGIN FOLDER WAY

local plugin, folder, way = unpack(arg)
local SECONDS = 30

local function wait(what, wanted)
  local found
  assert(
    vim.wait(SECONDS * 1000, function()
      found = wanted()
      return found ~= nil and found ~= false
    end, 20),
    "waited in vain for " .. what
  )
  return found
end

if way == "start" then -- what Neovim 0.8 to 0.10 have
  vim.lsp.enable = nil
end
local messages = {}
vim.notify = function(text)
  table.insert(messages, text)
end

vim.opt.runtimepath:append(plugin)
vim.cmd("filetype plugin on")
require("tessera").setup({
  cmd = vim.json.decode(vim.env.TESSERA_LSP),
  settings = { gpu = "sm_100a" },
})

local seen = {}
vim.cmd.edit(folder .. "/program.mlir")
local buffer = vim.api.nvim_get_current_buf()
seen.filetype = vim.bo.filetype
seen.commentstring = vim.bo.commentstring

local function lines(number)
  return vim.api.nvim_buf_get_lines(number, 0, -1, true)
end

local function cursor_at(text)
  for number, line in ipairs(lines(0)) do
    local column = line:find(text, 1, true)
    if column then
      vim.api.nvim_win_set_cursor(0, { number, column - 1 })
      return
    end
  end
  error(text .. " is not in the text")
end

local function windows()
  return vim.tbl_map(vim.api.nvim_win_get_buf, vim.api.nvim_list_wins())
end

-- Errors, which go when the text is right.
local function errors()
  return vim.tbl_map(function(one)
    return { line = one.lnum, column = one.col, message = one.message, source = one.source }
  end, vim.diagnostic.get(buffer))
end
seen.errors = wait("an error", function()
  return #errors() > 0 and errors()
end)
cursor_at("%nobody")
vim.cmd("normal! cf,%a,")
wait("no error", function()
  return #errors() == 0
end)

-- Hover, in a window of its own.
cursor_at("arith.addi")
vim.lsp.buf.hover()
local float = wait("hover", function()
  for _, window in ipairs(vim.api.nvim_list_wins()) do
    if vim.api.nvim_win_get_config(window).relative ~= "" then
      return window
    end
  end
end)
seen.hover = table.concat(lines(vim.api.nvim_win_get_buf(float)), "\n")
vim.api.nvim_win_close(float, true)

-- Definition.
cursor_at("%b : i32")
local before = vim.api.nvim_win_get_cursor(0)
vim.lsp.buf.definition()
wait("definition", function()
  return vim.api.nvim_win_get_cursor(0)[1] ~= before[1]
end)
seen.definition = vim.api.nvim_win_get_cursor(0)

-- Rename.
vim.lsp.buf.rename("twice")
wait("rename", function()
  return table.concat(lines(buffer)):find("return %%twice")
end)
seen.renamed = lines(buffer)

-- Commands.
local function shown(title)
  return wait(title, function()
    for _, number in ipairs(windows()) do
      if vim.api.nvim_buf_get_name(number):find(title, 1, true) then
        return number
      end
    end
  end)
end
vim.cmd("TesseraRunLine")
local output = shown("tessera://RUN: tessera-opt %s --cse")
seen.run = { text = table.concat(lines(output), "\n"), filetype = vim.bo[output].filetype }
seen.focus = vim.api.nvim_get_current_buf() == buffer

vim.cmd.edit(folder .. "/kernel.mlir")
wait("the client", function()
  return #vim.lsp.get_clients({ bufnr = 0 }) > 0
end)
vim.cmd("TesseraStage ptx")
local ptx = shown("tessera://ptx")
seen.ptx = { name = vim.api.nvim_buf_get_name(ptx), text = table.concat(lines(ptx), "\n") }
seen.served = #vim.lsp.get_clients({ bufnr = ptx })

-- Code lenses: the line of the kernel has two, so the second is chosen.
vim.ui.select = function(items, _, chosen)
  chosen(items[1], 1)
end
cursor_at("entry @")
if vim.lsp.codelens.enable then
  vim.lsp.codelens.enable(true)
else
  vim.lsp.codelens.refresh()
end
wait("code lenses", function()
  return #vim.lsp.codelens.get(0) > 0
end)
vim.lsp.codelens.run()
seen.stage = table.concat(lines(shown("tessera://nv_tileaa")), "\n")

-- What is refused is a message.
vim.cmd("TesseraStage nothing")
seen.refused = wait("a refusal", function()
  return messages[1]
end)

io.stdout:write(vim.json.encode(seen), "\n")
for _, client in ipairs(vim.lsp.get_clients()) do
  vim.lsp.stop_client(client.id)
end
wait("the end of the server", function()
  return #vim.lsp.get_clients() == 0
end)
