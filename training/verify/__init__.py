"""The proof of an exported model, repeated anywhere: NumPy, ONNX Runtime and Pillow are all that it needs, never torch.

Whoever exports keeps samples and what the checkpoint answered to them beside the file (``kept``). ``prove`` loads the file in a
fresh process, asks it the same and compares (``answers`` says what is compared, for each task).
"""
